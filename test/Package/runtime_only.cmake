# Configures and builds the runtime and its tools without the compiler, with
# LLVM and MLIR hidden, and runs them. It is a debug build with
# MTP_CHECK_RESULTS: an unchecked read of a result ends a test.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

# Unoptimized, since everything is compiled once more here, and with assertions.
file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${WORK}
  -DCMAKE_C_COMPILER=${CC} -DCMAKE_CXX_COMPILER=${CXX}
  -DCMAKE_C_COMPILER_LAUNCHER=${LAUNCHER}
  -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
  -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON -DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON
  -DCMAKE_BUILD_TYPE=Debug
  -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS_DEBUG=-O0
  -DMTP_BUILD_COMPILER=OFF)
run(${CMAKE_COMMAND} --build ${WORK} -- -j2)
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK} --output-on-failure
  -R "^(result|serve|chat|jinja|tools)$")
run(${FAKE_ARTIFACT} ${WORK}/fake.bin)
run(${WORK}/bin/mtp-dump ${WORK}/fake.bin)
run(${WORK}/bin/mtp-run ${WORK}/fake.bin --ids 3,1,4 -n 4)
if(NOT output MATCHES "^[0-9]+ [0-9]+ [0-9]+ [0-9]+\n$")
  message(FATAL_ERROR "expected 4 token ids, got\n${output}")
endif()
