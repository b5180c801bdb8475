# mtp_fingerprint(TARGET LIBRARY HEADER NAMESPACE NAME): adds a source to TARGET
# that contains the digest of the static library LIBRARY, for
#   std::string_view NAMESPACE::NAME();
# which HEADER declares. As a script (-P) it writes that source: OUT, of the
# file IN.
if(CMAKE_SCRIPT_MODE_FILE)
  file(SHA256 ${IN} digest)
  file(WRITE ${OUT} "#include \"${HEADER}\"

std::string_view ${NAMESPACE}::${NAME}() {
  return \"${digest}\";
}
")
  return()
endif()

function(mtp_fingerprint target library header namespace name)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DIN=$<TARGET_FILE:${library}> -DOUT=${source}
            -DHEADER=${header} -DNAMESPACE=${namespace} -DNAME=${name}
            -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${library} $<TARGET_FILE:${library}> ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    COMMENT "Computing the digest of ${library}"
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
