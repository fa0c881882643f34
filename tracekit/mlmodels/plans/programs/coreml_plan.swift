// Writes where Core ML anticipates that each operation of a model will run. Made by `tracekit plan`.
//
//     xcrun coremlcompiler compile Model.mlpackage .
//     swift coreml_plan.swift Model.mlmodelc cpuAndNeuralEngine > plan.json      (macOS 14.4 or later)
//     tracekit plan plan.json
//
// The second argument is one of all (the default), cpuAndNeuralEngine, cpuAndGPU, cpuOnly. Nothing is
// predicted, but the model is compiled for this Mac, which can take minutes.

import CoreML
import CryptoKit
import Foundation

func findUnits(_ word: String) -> MLComputeUnits? {
    switch word {
    case "all": return .all
    case "cpuAndNeuralEngine": return .cpuAndNeuralEngine
    case "cpuAndGPU": return .cpuAndGPU
    case "cpuOnly": return .cpuOnly
    default: return nil
    }
}

func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(1)
}

func nameDevice(_ device: MLComputeDevice) -> String {
    switch device {
    case .cpu: return "CPU"
    case .gpu: return "GPU"
    case .neuralEngine: return "ANE"
    @unknown default: return String(describing: device)
    }
}

/// The devices; nothing where Core ML states none, as for constants.
@available(macOS 14.4, *)
func describeUsage(_ usage: MLComputePlan.DeviceUsage?) -> [String: Any] {
    guard let usage else { return [:] }
    return ["preferred": nameDevice(usage.preferred), "supported": usage.supported.map(nameDevice)]
}

@available(macOS 14.4, *)
func nameBinding(_ binding: MLModelStructure.Program.Binding) -> String? {
    if case .name(let name) = binding { return name }
    return nil
}

/// The operations of a block, each before those of the blocks in it.
@available(macOS 14.4, *)
func listOperations(_ plan: MLComputePlan, _ block: MLModelStructure.Program.Block) -> [[String: Any]] {
    var entries: [[String: Any]] = []
    for operation in block.operations {
        var entry = describeUsage(plan.deviceUsage(for: operation))
        let arguments = operation.inputs.sorted { $0.key < $1.key }.map(\.value)
        entry["op"] = operation.operatorName
        entry["inputs"] = arguments.flatMap { $0.bindings.compactMap(nameBinding) }
        entry["outputs"] = operation.outputs.map(\.name)
        if let cost = plan.estimatedCost(of: operation) { entry["weight"] = cost.weight }
        entries.append(entry)
        for inner in operation.blocks { entries += listOperations(plan, inner) }
    }
    return entries
}

/// A layer of a neural network; Core ML estimates no costs for these.
@available(macOS 14.4, *)
func describeLayer(_ plan: MLComputePlan, _ layer: MLModelStructure.NeuralNetwork.Layer) -> [String: Any] {
    var entry = describeUsage(plan.deviceUsage(for: layer))
    entry["op"] = layer.type
    entry["name"] = layer.name
    entry["inputs"] = layer.inputNames
    entry["outputs"] = layer.outputNames
    return entry
}

/// The SHA-256 of the program's text, or of what describes another model.
func hashModel(_ url: URL) -> String {
    for name in ["model.mil", "coremldata.bin"] {
        if let data = try? Data(contentsOf: url.appendingPathComponent(name)) {
            return SHA256.hash(data: data).map { String(format: "%02x", $0) }.joined()
        }
    }
    return ""
}

func readSystem(_ name: String) -> String {
    var size = 0
    guard sysctlbyname(name, nil, &size, nil, 0) == 0, size > 0 else { return "" }
    var bytes = [CChar](repeating: 0, count: size)
    guard sysctlbyname(name, &bytes, &size, nil, 0) == 0 else { return "" }
    return String(cString: bytes)
}

@available(macOS 14.4, *)
func writePlan(_ url: URL, _ word: String) async throws {
    guard let setting = findUnits(word) else {
        fail("\(word) is none of all, cpuAndNeuralEngine, cpuAndGPU, cpuOnly.")
    }
    let configuration = MLModelConfiguration()
    configuration.computeUnits = setting
    let plan = try await MLComputePlan.load(contentsOf: url, configuration: configuration)
    var functions: [String: [[String: Any]]] = [:]
    switch plan.modelStructure {
    case .program(let program):
        functions = program.functions.mapValues { listOperations(plan, $0.block) }
    case .neuralNetwork(let network):
        functions["main"] = network.layers.map { describeLayer(plan, $0) }
    default:
        fail("\(url.path) is no ML program and no neural network; of a pipeline, name one of its models.")
    }
    let document: [String: Any] = [
        "schema": "tracekit-plan/1",
        "model": url.deletingPathExtension().lastPathComponent,
        "model_sha256": hashModel(url),
        "compute_units": word,
        "os_build": readSystem("kern.osversion"),
        "chip": readSystem("machdep.cpu.brand_string"),
        "functions": functions,
    ]
    let data = try JSONSerialization.data(withJSONObject: document, options: [.prettyPrinted, .sortedKeys])
    FileHandle.standardOutput.write(data)
}

let arguments = CommandLine.arguments
guard arguments.count == 2 || arguments.count == 3 else {
    fail("Usage: swift coreml_plan.swift Model.mlmodelc [all|cpuAndNeuralEngine|cpuAndGPU|cpuOnly]")
}
if #available(macOS 14.4, *) {
    do {
        try await writePlan(URL(fileURLWithPath: arguments[1]), arguments.count == 3 ? arguments[2] : "all")
    } catch {
        fail("\(arguments[1]): \(error)")
    }
} else {
    fail("Plans need macOS 14.4 or later.")
}
