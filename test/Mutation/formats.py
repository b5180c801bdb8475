"""Bugs in weight formats: edits of the product's sources, as in sources.py.

The unit tests of weights and kernels must catch each of them.
"""
import subprocess

EMBEDDING = "compiler/Codegen/Rows/Embedding.cpp"
SCALES = "compiler/Codegen/Rows/GroupScales.cpp"
MATMUL = "compiler/Codegen/CPU/products/QuantizedMatmul.cpp"
CODES = "compiler/Weights/pack/PanelCodes.cpp"

FORMATS = {
    "a group adds its minimum": (
        SCALES, "kb.toFloat(kb.sub(zero, ofOffset))", "kb.toFloat(ofOffset)"),
    "a group has the first group's scales": (
        SCALES, "kb.at(from, inBlock, QuantizedPanel::kOutputs * field.bytes())",
        "kb.at(from, kb.integer(0), QuantizedPanel::kOutputs * field.bytes())"),
    "a group has another group's high bits": (
        SCALES, "kb.truncate(kb.mul(inBlock, 4), kb.i32Type())",
        "kb.truncate(kb.mul(inBlock, 2), kb.i32Type())"),
    "a tied head's rows have the neighbouring row": (
        EMBEDDING, "kb.rem(token, outputs), to)", "kb.rem(kb.add(token, 1), outputs), to)"),
    "a looked-up table is read from the other end": (
        EMBEDDING, "kb.constant(kb.i32Lanes(), table[i])",
        "kb.constant(kb.i32Lanes(), table[15 - i])"),
    "a product exchanges nibbles": (
        MATMUL, "operands.append({low, high});", "operands.append({high, low});"),
    "a product's table is read from the other end": (
        MATMUL, "uint8_t(table[i] + spec.format.bias())",
        "uint8_t(table[15 - i] + spec.format.bias())"),
    "many rows have the scales of a group of the first block": (
        MATMUL, "panel, group.ready, group.number, first",
        "panel, group.ready, group.inBlock, first"),
    "packed nibbles are exchanged": (
        CODES, "uint8_t((q & 15) << inStep % 8 / 4 * 4)",
        "uint8_t((q & 15) << (4 - inStep % 8 / 4 * 4))"),
}

# Unit tests of the formats, by program.
TESTS = {"mtp_weights_test": "*Kept*:*Quantiz*:Grids.*",
         "mtp_codegen_tests": "QuantizedPanels.*:StoredFormats/QuantizedLinear.*/k71_*:"
                              "StoredFormats/QuantizedLinear.*/k576_n70_*"}


def judge_formats(tools):
    """Returns the program whose tests fail, if there is one."""
    for program, tests in TESTS.items():
        command = [f"{tools}/{program}", f"--gtest_filter={tests}", "--gtest_brief=1"]
        if subprocess.run(command, capture_output=True).returncode:
            return program
    return None
