# A formula for a tap: `make dist` writes it with the version and the digest of the source archive.
# Dependencies are wheels from PyPI; homebrew-core would want each as a resource that is built from source.
class CoremlTracekit < Formula
  include Language::Python::Virtualenv

  desc "Show the engine that each Core ML inference ran on, from Instruments recordings"
  homepage "https://pypi.org/project/coreml-tracekit/"
  url "https://files.pythonhosted.org/packages/source/c/coreml-tracekit/coreml_tracekit-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "python@3.13"

  def install
    virtualenv_create(libexec, "python3.13", without_pip: false)
    system libexec/"bin/python", "-m", "pip", "install", "#{buildpath}[dashboard]"
    bin.install_symlink libexec/"bin/tracekit"
    generate_completions_from_executable(bin/"tracekit", shell_parameter_format: :click)
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tracekit --version")
    assert_match "left the Neural Engine after its 6th call", shell_output("#{bin}/tracekit demo --no-browser")
  end
end
