"""Mach-O files from literal symbols, a real dSYM, and recordings of the app that they belong to."""

from __future__ import annotations

import base64
import struct
import uuid
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from documents_support import THREAD, TIME_PROFILE, one_table, write

UUID_OF_APP = "4C4C4488-5555-3144-A13B-07BCCE70BA25"
"""Of the dSYM below."""
OTHER_UUID = "11111111-2222-3333-4444-555555555555"
TEXT = 0x1_0000_0000
LOADED = 0x1_0234_0000
"""Where the recordings have the app in memory."""

# Made by clang 14, ld64.lld 14 and dsymutil 14 for arm64-apple-macos12 with -O1 -gdwarf-4, from app.c:
#   1 static inline __attribute__((always_inline)) int scale(volatile int *value) {
#   2     return *value * 3;
#   4 static inline __attribute__((always_inline)) int twice(volatile int *value) {
#   5     return scale(value) + scale(value);
#   7 __attribute__((noinline)) int predict(volatile int *value) {
#   8     int sum = twice(value);
#   9     return sum + 1;
#  11 __attribute__((noinline)) int _hidden_start(volatile int *value) {
#  12     return predict(value) - 1;
#  14 int main(void) {
#  16     return _hidden_start(&value);
# and cxx.cpp:
#   1 namespace net { struct Layer { __attribute__((noinline)) int run(volatile int *v) { return *v * 7; } }; }
#   2 extern "C" int helper(volatile int *v) { net::Layer layer; return layer.run(v); }
_DSYM = (
    "c-rk+O>7%Q6n<lSoz&~tPTV$jlTsH_5>=I(&@`xNpsAF!F?EZR{v<?|wvN3`TsdpYe@&y5gn%HbKrIsOp_hWF;EKd0Ko3AAI3NKB"
    "B)A~K0l@_c71RTffH$)<@p`jq(<9P8X?EV5_ue;e-ps7Mv-{28zyIR}Ab{k-Qir8Of>mn462cOX4=kNN-8Jye!MZzN=Re-{6mMsa"
    ";N=Ct!P_AK;Ku44)+ezJV;RDtD2c;I2ge6To`*F=;Ne7Zeq%VN2FFfW`1f1;NxV3?tSBXQrc~9N@&0h=c&{5U97aGFEEq*aDQg!q"
    "T3X3y=W`Z#b50$vFR%`t#W?kR#bYOq4GzQvRzDx7z~S|Wh8z$R&Xkkl42&KgIZ{<5OgIs}x?Qi=bR9VPn$X9WRwv4nN;adZx@?WN"
    "47GUc(JEdp1y*>=9M8oEv%EpPWFe_ds>L;UcZPMmb3)#^F+4t<Yw%h}bUckuV(a4@jBjG1pjOu6T{)%W-Q?rF(zY?YVyR%6zqT_v"
    "-Yp?N`7pd>KA%+;Ejf+ZTZ?!1OznK!eH6TWGG)g5a+L1}A-8V~uXHJI8J}}Z$Ga@#j*a2vCN89`^0&b8#562)fK4{pWRp!c*<_PV"
    "HvR93KE6DLe{{3_`IJ5{`jLrnc?Xxp^Kb{3>$(1EE)Q|}5R(Ij=XpgLKe10!OZ(%=OKM?Xp{xxi&SXHDPG&Sv@&z@WNtMuQDw9sD"
    "8a~h@3n)&h*}Pi7=IJR#ol#Tel8SA~v|6y|%qE*`vdJc!Y_iEFn{2YlCYv6W=*uq`Y^P7_gsk`)XvN<l6G-OsQT_ESY;uSbfRN<%"
    "G`OFW!tUcz;8jUN7Tj@cd|7HiUZUbFQj_OT$$Jd7iw-Yh9%tR`u<j-`GZRha^P(ehln|6+o_kWCdl3OYlFoXFq#*w3MTZN>>MQQe"
    "ye5zkY>3w`c$Xw@nFky&SrHgBn+R1~6<e^K55zY2fsSjt8#Y^;vC&Jg-4E<;4~TCF^q2NxhQ`(jOSi8OVJ{Nhy^ei>(4HASOSqS<"
    "lP9=#m#Ig`ZZ^C06)JIdGX6M=y$3InOB%t-O|_0*s&p9)UCgj<b%oKkTtB_m9TB5rhIQ0%(*e-GjUe?@>lrl!5@5}KnI!1C^+XLS"
    "IuaszQAPXLb$`|9T7(XVD$ci9EYop%m02ujMJzInrGb7Nu$kNXNWzKpgx=!xtb=)v)2okq`yFr2F=s!`M#BnT`l`;Tq%lEl)^~!!"
    "vp&hQZk)G(5ZYK*)Py)9IIPC&$ZAa7gJP58YJHwbD`?&DDYEAbJzuT&kzqafV1*7zn$`E}mIbVDFrK1rZO2RV9(~pEnGI3IP#3m^"
    "smV5Rl*r~H_dPYl=9aIJxrt>8g;p}mLL&@`0RU+vyL>^(>06xh1)5uYKhK97Ns}AbOO!Z$z4Af1Jsb;SYeWWcN}#vJf(YM+!n3lB"
    "?UEm8i+ew->Y{`~{5l`*56y<FAcw*TgZY)f(OiYu)LkQbwv(<Pbsv*okVg?)M)Ob?YP>qEC1%4AnGasZ@%UnB{UR<OKf;EpumQ7k"
    "EWlkG4dGz!nhbs@1`l8saAJa_M|S#TnYIILi4x5xjQYYHX{!XWKsPeYl)(i1Sry*Ts%?g>q=U2JquAD>_pN)iN;N$L45$;Cq!vkK"
    "liFmYq85sooEGWoj&??S_;18s*jp^5pqNT#Rj4GhWfd}72}&0;DHX&SZ?QZLwa2{d3|QR$`H^o0vh<)BG_?fm$QY~-kg<l+RHg_+"
    "Cl3!1ew(NV@gbV{6w1BI)1~$=65U)9=P7mGSp58@_HtnS{U!Or{LQ)2cZ+v_Ir#&5<Nj#i^7PqH=nlAs<!vk<V4-{GTP#2E&DziL"
    "bG+YPF2Bd+8(i+;p9+n0`2hbBTQKP-xqO@Jck|dk!}24?jB}e6E{hz9VwHpVTT3$i38?V)`=r*_0fx`_#7z->otP~NWaM-lma~N="
    "dE&L}4Ff2jr?GS2Bl?}_c1N$5-U~QOy=Fzkc)@M(%ooe|%z=YN;Iy;<0MYZC%m"
)

# The debug information of the same sources by clang 14 with -O1 -gdwarf-5, whose dsymutil cannot read version 5, as a
# linker for another system left it: without a symbol table, the text segment at 0x210000, of OTHER_UUID.
_DWARF_5 = (
    "c-oa#O>7%Q6n<}aXT9EC$4(s-n*jN<2?uZzl7>(sXi*vnEtOLm5)jBZ_9j{3tSx(EO!=!yKvYz10SR$vg%Fos;0y?HK}eN26p1Sr"
    "Zd|w^Bm|WZZ)Rtcm^Q(T^!CkrGw+-4J<pG?|MlzNHUI)OlSC!C#y_(4k)%kvsSOQHOw7(Mik2qdM<j*9siVuMU{@OqR03|<m=u(D"
    "q2N0$e`oyPcmo*VorgV|24{AgoL5TaII~MfPR>E6E#wv5=23Q5HrEQ3YN_Hj{Kj5*FG~H3dee}y+X(TBD=T%Uxi`P7vM^6+o#DCO"
    "YBjKLjdxAr-C&*JHT-&^y1Ke&z7?szjdY9$`|-Oh^{CNd{mSL~et64Lf8QZq#r2&1@HAP!;b`Z0qKJFoC8ZuQJHxAcYy0lMUa1fL"
    "2i}y}--bBfbl%~1ezwH%>A}3#lhQuL{KudrQn(CSDnq`^Sm3))Mshe_)Z4`A)gVE0X!-)6qJd3@od^Q38?)IYQ?vEnL~mcVyYGPB"
    "=sl0bRLP;5J!Cy(jil$31A|mrl|kT{r^09%G9I=pix!Ln_vi<OisX=^98R51@5DbsN8Mnc4DA3!C)-T(P8?72z-8+hYl%=Tnw}b`"
    "5&Lm`Bl#NLZLxXsyiONf7lo#FLT^d}7l#|Y{&pJebOJJJI~lDVk%dd@;gXRDsT!0+5~nORYgv3I<&Z-!8-~rKIk3s73X^HUpF`O@"
    "b&3Ub>I&)<4~dnNr_+y-BN0#vqPtmpihOG`KygrzHU%2n8)sSm)_kWZD&RDT^l(NT35{v&2z7MsR&>zhuqK8h;=RCX1R~P{hCzf6"
    "M9~C;d(64*_rZu;m_NaNBf(wH_nJ+<Q3#zFIQv2;Eue@6HVm-D0ty3*FJLcm8ZpePv<+#Rc8{1Ag)Tm=OL^~A264{Y{(>XYL~>E@"
    "YY6J_ov6cLkmWmV2k5Y@#hmbF<nqc};=wdQxxmRQ7mX+=E=S`pBkHukMMK90$wxI<1OcNOEyg3wbM&z;1S{A&(_%a}_5ml$$Ky&u"
    "6!I#4`5m7?>nr{e<AMn&!bAX!$){^dK9jFV(mZ{gq(_oJN%8{8`y`XQVzy+={UrP@JR@U2l#ltnB>nQrXq1W-2b#sorUSLQQ+7)}"
    "_%FF72mE!n0ZmwUDmAALuIEFg_%ii8$A?*G#VvXRrApCT8)!Q9hFkRp#wT-QxhW{DyXCUu(VbbW`>;`TJt#bTVuHdB9_IiP^-b?+"
    "{%IFR8}$;90i{+eSE|*ZSgYkq(AeAnF;V7ZZ2x7*NIfm}tkij_D^lMf<66?bB=u#fx8(Q({MSId(G}wggFi9U=@(Cgiv3EQ-Gwo3"
    "{PFzV$9~HH`AxH@I`Z>pO}??CO2{k4Y%``m!P5GZEb%sD)CK)GIp1V`)Mwn>BJ+24V4m5>_ymPcC$|0<5Aojn=_|vrN1H$V_{sHi"
    "pI>?ROTi<|Gs))7-`I?PR-lWaFlA)VnaB#nX7McD?uerJ?S)TDIw%jW3K^Al>^~w095("
)


def dwarf_5(folder: Path) -> Path:
    """Write a file with debug information of version 5 and return its path."""
    path = folder / "App.dwarf"
    path.write_bytes(zlib.decompress(base64.b85decode(_DWARF_5)))
    return path


def dsym(folder: Path, name: str = "App.dSYM") -> Path:
    """Write the dSYM and return its path."""
    content = folder / name / "Contents" / "Resources" / "DWARF"
    content.mkdir(parents=True)
    (content / "App").write_bytes(zlib.decompress(base64.b85decode(_DSYM)))
    return folder / name


def macho(
    symbols: Sequence[tuple[int, str]],
    identity: str = UUID_OF_APP,
    starts: Sequence[int] = (),
    code: tuple[int, int] = (0x1000, 0x1000),
    debug: Mapping[str, bytes] | None = None,
    starts_as_written: bytes = b"",
) -> bytes:
    """Return a binary for arm64 with (offset, name) of each function from the start of its text segment.

    ``starts`` are the offsets of all functions, which a stripped binary lists; ``code`` is offset and size of
    the section with code; ``debug`` has sections of debug information, by names without the dot.
    """
    names = b"\0"
    table = b""
    for offset, name in symbols:
        table += struct.pack("<IBBHQ", len(names), 0x0F, 1, 0, (TEXT + offset) % 2**64)
        names += name.encode() + b"\0"
    distances, last = starts_as_written, 0
    for start in starts:
        distances += uleb(start - last)
        last = start
    debug = debug or {}
    section = struct.pack(
        "<16s16s2Q8I", b"__text", b"__TEXT", TEXT + code[0], code[1], 0, 0, 0, 0, 0x8000_0400, 0, 0, 0
    )
    segment = struct.pack("<16s4Q4I", b"__TEXT", TEXT, 0x4000, 0, 0, 5, 5, 1, 0) + section
    payload_at = 32 + 24 + 8 + len(segment) + 24 + 16 + 8 + 64 + 80 * len(debug)
    sections = b""
    position = payload_at + len(table) + len(names) + len(distances)
    for section_name, content in debug.items():
        place = (0, len(content), position, 0, 0, 0, 0, 0, 0, 0)
        sections += struct.pack("<16s16s2Q8I", f"__{section_name}".encode()[:16], b"__DWARF", *place)
        position += len(content)
    commands = [
        (0x1B, uuid.UUID(identity).bytes),
        (0x19, segment),
        (0x2, struct.pack("<4I", payload_at, len(symbols), payload_at + len(table), len(names))),
        (0x26, struct.pack("<2I", payload_at + len(table) + len(names), len(distances))),
        (0x19, struct.pack("<16s4Q4I", b"__DWARF", 0, 0, 0, 0, 7, 3, len(debug), 0) + sections),
    ]
    body = b"".join(struct.pack("<2I", number, 8 + len(data)) + data for number, data in commands)
    header = struct.pack("<8I", 0xFEED_FACF, 0x0100_000C, 0, 2, len(commands), len(body), 0, 0)
    assert len(header) + len(body) == payload_at
    return b"".join((header, body, table, names, distances, *debug.values()))


def fat(*slices: bytes) -> bytes:
    """Return a fat binary."""
    offset = 8 + 20 * len(slices)
    entries, content = b"", b""
    for part in slices:
        entries += struct.pack(">5I", 0x0100_000C, 0, offset + len(content), len(part), 0)
        content += part
    return struct.pack(">2I", 0xCAFE_BABE, len(slices)) + entries + content


def recording(folder: Path, *stacks: Sequence[int], identity: str = UUID_OF_APP, name: str = "App") -> str:
    """Write an export with a sample for each stack of addresses, relative to the app's start, leaf first."""
    rows = []
    binary = f'<binary id="9" name="{name}" UUID="{identity}" arch="arm64" load-addr="{LOADED:#x}" path="/Apps/{name}"/>'
    number = 20
    for position, stack in enumerate(stacks):
        frames = ""
        for offset in stack:
            number += 1
            shown = binary if position == 0 and number == 21 else '<binary ref="9"/>'
            address = LOADED + offset
            frames += f'<frame id="{number}" name="{address:#x}" addr="{address:#x}">{shown}</frame>'
        thread = THREAD if position == 0 else '<thread ref="2"/>'
        rows.append(
            f'<sample-time>{position + 1}000000</sample-time>{thread}<process ref="4"/><core>0</core>'
            "<thread-state>Running</thread-state><weight>1000000</weight>"
            f'<backtrace id="{10_000_000 + position}">{frames}</backtrace>'
        )
    return write(folder, one_table("time-profile", TIME_PROFILE, *rows))


def uleb(number: int) -> bytes:
    parts = bytearray()
    while True:
        number, low = number >> 7, number & 0x7F
        parts.append(low | (0x80 if number else 0))
        if not number:
            return bytes(parts)
