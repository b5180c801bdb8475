# Writes <build>/runtime/schema/SchemaHash.h: the SHA-256 of mtp_artifact.fbs
# without comments and blanks, so that only a change of meaning changes it.
set(source ${CMAKE_CURRENT_SOURCE_DIR}/mtp_artifact.fbs)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
file(READ ${source} schema)
string(REGEX REPLACE "//[^\n]*" "" schema "${schema}")
string(REGEX REPLACE "[ \t\r\n]+" "" schema "${schema}")
string(SHA256 hash "${schema}")
string(REGEX REPLACE "(..)" "0x\\1, " MTP_SCHEMA_HASH_BYTES "${hash}")
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/SchemaHash.h.in
               ${PROJECT_BINARY_DIR}/runtime/schema/SchemaHash.h @ONLY)
