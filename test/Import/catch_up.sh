#!/bin/sh
# catch_up.sh ROWS FLAGS...: imports with FLAGS of mtp-import, and expects that drafters can catch up over
# ROWS tokens, or not at all with 0, and that mtpc warns about nothing.
rows=$1
shift
mtp-import "$@" -o m.mlir --max-context 64 2> said.txt || { cat said.txt; exit 1; }
mtpc m.mlir --compile-to=exec > m.exec.mlir 2> said.txt || { cat said.txt; exit 1; }
if grep warning said.txt; then
  exit 1
fi
count() { grep -c "$1" "$2"; }
# Without catching up the attribute is absent.
[ "$rows" = 0 ] && attribute=catch_up_rows || attribute="catch_up_rows = $rows"
found="$(count "$attribute" m.mlir) $(count 'exec.program @catch_up prefill' m.exec.mlir)"
found="$found $(count 'exec.state @recent_hidden' m.exec.mlir)"
[ "$rows" = 0 ] && wanted="0 0 0" || wanted="1 1 1"
[ "$found" = "$wanted" ] && exit 0
echo "$*: expected $wanted envelopes, programs and states that catch up, got $found"
exit 1
