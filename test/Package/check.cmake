# Installs BUILD into a fresh folder under WORK, builds the consumer against it,
# and compares what its two programs print.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
set(ENV{PKG_CONFIG_PATH} ${WORK}/prefix/${LIBDIR}/pkgconfig)
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/test/Package/consumer -B ${WORK}/build
  -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${CXX}
  -DGENERATE_C=${SOURCE}/test/CAPI/generate.c)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${FAKE_ARTIFACT} ${WORK}/fake.bin)
run(${WORK}/build/consumer ${WORK}/fake.bin)
set(expected "${output}")
set(ENV{LD_LIBRARY_PATH} ${WORK}/prefix/${LIBDIR})
run(${WORK}/build/generate ${WORK}/fake.bin 3 1 4)
string(REGEX MATCHALL "\n" lines "${output}")
list(LENGTH lines count)
if(NOT output STREQUAL expected OR NOT count EQUAL 16)
  message(FATAL_ERROR "expected 16 equal tokens, got\n${expected}and\n${output}")
endif()
