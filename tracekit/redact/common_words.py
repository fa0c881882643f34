"""Words that are too common to be private by themselves.

A user called ``max`` or a process called ``log`` has a name that is also a word of code and of messages.
Replacing it everywhere would wreck stacks and sentences and hide nothing, so such a name goes by the narrower
rules of ``redact.words``.
"""


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RESERVED = _split_words(
    """
    begin end event interval running runnable blocked preempted waiting terminated active idle none other
    process processes device user users home private character characters shared kernel kernel_task
    launchd instruments xcode xctrace tracekit
    """
)
"""Words that are never replaced: the analysis reads or writes them, or they exist on every Mac."""

_PLATFORM = """
accelerate ane appkit apple arkit avfoundation bnns carbon catalyst cocoa combine core coremedia coreml cpu
darwin dispatch dyld engine espresso foundation gpu graph imac inference io ios ipad ipados iphone layer
linux mac macbook macos metal ml mlmodel mlpackage model models mps mpsgraph neural objc onnx operation
platform predict prediction quartz runtime simd spritekit swift swiftui tensor tensorflow torch tvos uikit
vision visionos watchos webkit windows xnu xpc
"""
_CODE = """
abort abstract accept access account action actor adam adapter add address admin administrator agent alert
align alloc allocator analysis analyze animation any api app append application apply apps archive area arg
args array assert async atomic attach audio auth auto await backend background base batch beta binary bind
bit blob block body bool box branch break bridge browser buffer build builder builds bundle button byte
bytes cache call callback camera cancel canvas capture case cast catch cell center chain change channel char
check child class clean clear click client clip clone close cloud cluster code codec collect collection
color column command commit common compare compile compiler component compress compute computer config
connect connection console const constant container content context control controller convert copy core
count counter create cross current cursor custom daemon dash data database date debug decode decoder default
defer delay delegate delete demo deploy desktop detail dev developer device dict dictionary diff digest
direct directory dirty disk display document documents domain done dot double download draw drive driver
drop dump dynamic echo edge edit editor effect electron element empty enable encode encoder engine entity
entry enum environment error errors evaluate event events example except exec execute exit export extension
external face factory fail fallback fast fetch field file files fill filter find fix flag flash flat float
flow flush focus folder font force fork format forward fourier frame framework front function future game
gate gateway gauss get global grab graphics group guard guest handle handler hash head header heap height
hello help helper hide hook host hosted html http icon idle image images import index info inherit init
initialize inline inner input insert inspect install instance instruments int integer interface internal
invoke item items iterator job jobs join json kernel key keyboard keys label lambda lane launch launcher
layout lazy leaf left length level lib library light limit line linear link list listen live load loader
local location lock log logger login logs loop machine main make manager map mapper mask master match math
matrix max media member memory menu merge message messages meta method metric min mini mix mobile mock mode
module monitor mount mouse move mutex my name names native network new newton next node nodes normal note
notify null number object observe off offset old online open operator optimize option options order origin
output overlay owner pack package page pages panel parallel param parent parse parser part parts pass patch
path paths pause peer picture ping pipe pipeline pixel play player plugin pod point pointer poll pool pop
port post power prepare present press preview print private probe process processor product profile program
project promise property protocol provider proxy public publish pull push put query queue quick quit radio
random range raw read reader ready real receive record recorder redirect ref reflect refresh region register
release reload remote remove render renderer repeat replace report request reset resize resolve resource
response restart result resume retry return reverse right root rotate route router row run runner sample
save scale scan scanner scene schedule scheduler schema scope score screen script scroll sdk search section
secure seed segment select self send sensor sequence serial server service services session set setting
settings setup shader shadow shape share shell shift show shutdown sign signal simple simulator single size
skip slice slide slot smart socket software solve sort sound source space span spark split stack stage
standard star start state static status step stop storage store stream string strip struct style sub submit
suspend swap switch symbol sync system tab table tag target task tasks temp template temporary test tester
testing tests text theme thread threads throw tick tile time timer title toggle token tool tools top touch
trace track trackpad train transfer transform translate transmit transport tree trigger type undo union unit
unknown unlock update updater upload url util utility validate value values var vector vendor verify version
video view viewer virtual void volume wait wake walk watch wave web weight widget width window windows wire
word words work worker workers workspace world wrap write writer yield zero zone zoom
"""
_PROGRAMS = """
activity automator awk bash books brew bun calculator calendar cargo cat chess chmod chown chrome clang
clock cmake contacts curl deno dock docker emacs facetime find finder firefox fish freeform gcc gdb git
gitlab go gradle grep gzip head java javac journal kill ksh less lldb lldb-rpc-server mail make maps
messages more music nano ninja notes npm numbers perl photos php pip preview ps python python2 python3
reminders ruby rust rustc safari sed shortcuts siri sleep spotlight ssh sshd stickies stocks su sudo swiftc
tail tar tcsh terminal tips top unzip vim weather wget xargs xcode xcodebuild xctrace yarn zip zsh
"""
_ACCOUNTS = """
administrator anonymous azure bitrise bot bots buildbot buildkite builduser ci circleci circleci-agent
codespace computer distiller ec2-user everyone gitlab-runner gitpod guest jenkins me me-user nobody operator
owner postgres profile root runneradmin staff support team teamcity test tester testuser travis ubuntu user
user1 username vagrant vsts workspace www your yourname
"""
_GIVEN_NAMES = """
april art august bill chase chip crystal dash dawn dean dot drew frank gene grace grant guy hope jack jade
jasmine joy june lance mark may miles olive pat pearl penny pierce ray rich rob rose rusty skip sky summer
victor violet will
"""
_OTHER_WORDS = """
about above after again against all also and another are because been before being below between both but
did does each else from had has have her him his how into its just like made many might more most much must
not now only our out over same she should some such than that the their them then there these they this
those through too under until upon very was were what when where which while whom with within without would
you
"""
COMMON = RESERVED | _split_words(_PLATFORM + _CODE + _PROGRAMS + _ACCOUNTS + _GIVEN_NAMES + _OTHER_WORDS)
"""Names of users and processes that are ordinary words, in lower case."""

_FOLDERS = "applications bin build contents frameworks lib library opt resources tmp usr var versions"
NO_PEOPLE = RESERVED | _split_words(_PLATFORM + _ACCOUNTS + _FOLDERS)
"""User names that do not belong to a person: machine accounts, and common path components."""

PRODUCT = _split_words(
    "air apple imac ipad iphone mac macbook max mini my plus pro se studio tv ultra vision watch"
)
"""Words of Apple's product names: a device name made only of these words is not private."""
