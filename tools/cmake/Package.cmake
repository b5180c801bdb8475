# `cpack -G DEB` in the build folder writes four packages: mtp-runtime and
# mtp-server (need no LLVM), mtpc (the compiler) and libmtp-dev. Included last,
# since CPack needs all install rules.
include(GNUInstallDirs)
install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/mtp-runtime
  COMPONENT runtime)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mtpc)
set(CPACK_PACKAGE_VENDOR mtpc)
set(CPACK_PACKAGE_CONTACT "mtpc packagers <packagers@mtpc.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "compiler and runtime for multi-token prediction")
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime dev)
if(MTP_BUILD_SERVER)
  list(APPEND CPACK_COMPONENTS_ALL server)
endif()
if(MTP_BUILD_COMPILER)
  list(APPEND CPACK_COMPONENTS_ALL compiler)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME mtp-runtime)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION
  "Runs what mtpc compiled: the library, mtp-run, mtp-bench, mtp-dump and mtp-tune.")
# mtp-chart and mtp-tune-chart, which draw reports.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS python3)
set(CPACK_DEBIAN_COMPILER_PACKAGE_NAME mtpc)
set(CPACK_DEBIAN_COMPILER_DESCRIPTION
  "Imports Hugging Face checkpoints and compiles model, drafter, accept rule and
 cache commit into one file, which mtp-runtime runs.")
set(CPACK_DEBIAN_COMPILER_PACKAGE_RECOMMENDS mtp-runtime)
# With llvm-22-dev installed, its link to libLLVM lies beside libMLIR.
# dpkg-shlibdeps then finds either the link, which has no dependency, or the
# library.
set(CPACK_DEBIAN_COMPILER_PACKAGE_DEPENDS "libllvm${LLVM_VERSION_MAJOR}")
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME mtp-server)
set(CPACK_DEBIAN_SERVER_DESCRIPTION
  "An OpenAI-compatible HTTP server for what mtpc compiled, with a systemd unit.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libmtp-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "mtp-runtime (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_DESCRIPTION
  "The C and C++ interfaces with a CMake package and a pkg-config file.")
include(CPack)
