"""shuffle_drafter.py FOLDER: shuffles the weights of the bundled model's MTP modules in the
safetensors file of FOLDER. The modules follow the model's 11 layers."""
import json, pathlib, random, struct, sys

path = pathlib.Path(sys.argv[1]) / "model.safetensors"
data = bytearray(path.read_bytes())
begin = 8 + struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:begin])
shuffled = 0
for name, tensor in header.items():
    if name.startswith(("model.layers.11.", "model.layers.12.")) and tensor["dtype"] == "BF16":
        first, last = (begin + at for at in tensor["data_offsets"])
        values = [bytes(data[at:at + 2]) for at in range(first, last, 2)]
        random.Random(name).shuffle(values)
        data[first:last] = b"".join(values)
        shuffled += 1
assert shuffled > 50
path.write_bytes(data)
