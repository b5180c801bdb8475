# mtp_install_tool(NAME COMPONENT): installs a tool with its manual page and its
# completions, which tools/docs/tool_pages.py writes from the tool's --help
# after every link. Without Python only the tool is installed.
include(GNUInstallDirs)
find_package(Python3 COMPONENTS Interpreter)

function(mtp_install_tool name component)
  install(TARGETS ${name} RUNTIME COMPONENT ${component})
  if(NOT Python3_Interpreter_FOUND)
    return()
  endif()
  set(script ${PROJECT_SOURCE_DIR}/tools/docs/tool_pages.py)
  set(text ${PROJECT_SOURCE_DIR}/tools/docs/man/${name}.man)
  set(folder ${PROJECT_BINARY_DIR}/pages)
  set(pages ${folder}/${name}.1 ${folder}/${name}.bash ${folder}/_${name})
  add_custom_command(OUTPUT ${pages}
    COMMAND ${Python3_EXECUTABLE} ${script} $<TARGET_FILE:${name}> ${text}
            ${PROJECT_VERSION} ${folder}
    DEPENDS ${name} ${script} ${text}
    COMMENT "Writing the manual page and completions of ${name}"
    VERBATIM)
  add_custom_target(${name}-pages ALL DEPENDS ${pages})
  install(FILES ${folder}/${name}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    COMPONENT ${component})
  install(FILES ${folder}/${name}.bash RENAME ${name}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    COMPONENT ${component})
  # Debian's zsh searches site-functions of /usr/local, but not of /usr.
  install(CODE "
    set(functions site-functions)
    if(CMAKE_INSTALL_PREFIX MATCHES \"/usr$\")
      set(functions vendor-completions)
    endif()
    file(INSTALL \"${folder}/_${name}\" DESTINATION
      \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${functions}\")"
    COMPONENT ${component})
endfunction()

# The compiler's tools find LLVM's libraries at their link-time paths. Installed
# files do not refer to the build folder.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
