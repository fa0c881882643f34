// Calls the probes of a folder, each with each setting of the compute units, and marks each call with a signpost.
// Build:   swiftc -O -parse-as-library ProbeRunner.swift -o ProbeRunner
// Run:     ./ProbeRunner FOLDER      (TRACEKIT_COMPUTE_UNITS=cpuAndNeuralEngine limits it to one setting)
// Needs macOS 13 or later. Uses public API only.

import CoreML
import Foundation
import os

struct Manifest: Decodable {
    struct Probe: Decodable {
        let name: String
        let file: String
    }
    let settings: [String]
    let calls: Int
    let probes: [Probe]
}

let units: [String: MLComputeUnits] = [
    "all": .all,
    "cpuAndGPU": .cpuAndGPU,
    "cpuAndNeuralEngine": .cpuAndNeuralEngine,
    "cpuOnly": .cpuOnly,
]

/// Returns inputs of the model's own types and shapes: zeros, which are valid indices as well.
func makeInputs(_ model: MLModel) throws -> MLFeatureProvider {
    var features: [String: MLFeatureValue] = [:]
    for (name, description) in model.modelDescription.inputDescriptionsByName {
        guard let constraint = description.multiArrayConstraint else { continue }
        let array = try MLMultiArray(shape: constraint.shape, dataType: constraint.dataType)
        array.withUnsafeMutableBytes { bytes, _ in
            _ = bytes.initializeMemory(as: UInt8.self, repeating: 0)
        }
        features[name] = MLFeatureValue(multiArray: array)
    }
    return try MLDictionaryFeatureProvider(dictionary: features)
}

@main
struct ProbeRunner {
    static let signposter = OSSignposter(subsystem: "tracekit.probes", category: "calls")

    static func main() async throws {
        guard CommandLine.arguments.count == 2 else {
            FileHandle.standardError.write(Data("usage: ProbeRunner FOLDER\n".utf8))
            exit(2)
        }
        let folder = URL(fileURLWithPath: CommandLine.arguments[1], isDirectory: true)
        let manifest = try JSONDecoder().decode(
            Manifest.self, from: Data(contentsOf: folder.appendingPathComponent("probes.json")))
        let only = ProcessInfo.processInfo.environment["TRACEKIT_COMPUTE_UNITS"]
        for setting in manifest.settings where only == nil || only == setting {
            for probe in manifest.probes {
                do {
                    try await call(probe, in: folder, with: setting, times: manifest.calls)
                    print("\(probe.name) \(setting): \(manifest.calls) calls")
                } catch {
                    print("\(probe.name) \(setting): failed: \(error)")
                }
            }
        }
    }

    /// Compiles and loads a probe outside of the signposts, and calls it: the first call may still prepare.
    static func call(_ probe: Manifest.Probe, in folder: URL, with setting: String, times: Int) async throws {
        let compiled = try await MLModel.compileModel(at: folder.appendingPathComponent(probe.file))
        defer { try? FileManager.default.removeItem(at: compiled) }
        let configuration = MLModelConfiguration()
        configuration.computeUnits = units[setting] ?? .all
        let model = try MLModel(contentsOf: compiled, configuration: configuration)
        try predict(model, probe.name, setting, times)
    }

    // Not async, so that the compiler takes the prediction that returns when it is done.
    static func predict(_ model: MLModel, _ probe: String, _ setting: String, _ times: Int) throws {
        let inputs = try makeInputs(model)
        for number in 1...times {
            let interval = signposter.beginInterval(
                "probe", id: signposter.makeSignpostID(),
                "\(probe, privacy: .public) \(setting, privacy: .public) \(number, privacy: .public)")
            defer { signposter.endInterval("probe", interval) }
            _ = try model.prediction(from: inputs)
        }
    }
}
