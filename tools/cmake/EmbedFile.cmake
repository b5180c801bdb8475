# Writes a C++ file that contains the bytes of another file, for
#   std::string_view NAMESPACE::NAME();
#   cmake -DIN=FILE -DOUT=FILE.cpp -DHEADER=PATH -DNAMESPACE=.. -DNAME=.. -P EmbedFile.cmake
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((0x..,){16})" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "#include \"${HEADER}\"

static const unsigned char kBytes[] = {
${bytes}
};

std::string_view ${NAMESPACE}::${NAME}() {
  return {reinterpret_cast<const char *>(kBytes), sizeof(kBytes)};
}
")
