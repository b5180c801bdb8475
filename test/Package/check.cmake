# Installs BUILD into a fresh folder under WORK. Checks tools, pages,
# completions and the library paths of binaries. Builds the consumer against it
# and compares the output of its two programs.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/tree.cmake)

file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
foreach(tool ${TOOLS})
  check_tool(${prefix} ${tool})
endforeach()
check_libraries(${prefix} ${BUILD})
if(NOT EXISTS ${prefix}/share/doc/mtp-runtime/CHANGELOG.md)
  message(FATAL_ERROR "expected an installed CHANGELOG.md")
endif()
# The installed mtp-tune finds the installed machine by its name.
run(${FAKE_ARTIFACT} ${WORK}/fake.bin)
execute_process(
  COMMAND ${prefix}/bin/mtp-tune ${WORK}/fake.bin --simulate h100
  WORKING_DIRECTORY ${WORK} OUTPUT_QUIET ERROR_VARIABLE error)
if(NOT error MATCHES "expected an artifact with a plan for a GPU")
  message(FATAL_ERROR "expected the installed machine h100, got ${error}")
endif()

set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/test/Package/consumer -B ${WORK}/build
  -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_C_COMPILER=${CC}
  -DCMAKE_CXX_COMPILER=${CXX}
  -DGENERATE_C=${SOURCE}/test/CAPI/generate.c)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer ${WORK}/fake.bin)
set(expected "${output}")
run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${prefix}/${LIBDIR}
  ${WORK}/build/generate ${WORK}/fake.bin 3 1 4)
string(REGEX MATCHALL "\n" lines "${output}")
list(LENGTH lines count)
if(NOT output STREQUAL expected OR NOT count EQUAL 16)
  message(FATAL_ERROR "expected 16 equal tokens, got\n${output}and\n${expected}")
endif()
run(${prefix}/bin/mtp-run ${WORK}/fake.bin --ids 3,1,4 -n 16 --print-ids)
string(REPLACE " " "\n" output "${output}")
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "expected of mtp-run\n${expected}got\n${output}")
endif()
