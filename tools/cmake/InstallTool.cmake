# mtp_install_tool(NAME COMPONENT): installs a tool with its manual page and its
# completions, which tools/docs/tool_pages.py writes from the tool's --help
# after every link. Without Python only the tool is installed.
#
# mtp_install_script(NAME SOURCE COMPONENT): installs a Python script with its
# pages, and copies it to the built programs. Without Python it is left out.
include(GNUInstallDirs)
find_package(Python3 COMPONENTS Interpreter)

function(mtp_install_tool name component)
  install(TARGETS ${name} RUNTIME COMPONENT ${component})
  mtp_install_pages(${name} $<TARGET_FILE:${name}> ${name} ${component})
endfunction()

function(mtp_install_script name source component)
  if(NOT Python3_Interpreter_FOUND)
    return()
  endif()
  set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
  add_custom_command(OUTPUT ${program}
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_SOURCE_DIR}/${source}
            ${program}
    DEPENDS ${source}
    COMMENT "Copying ${name}"
    VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${program})
  install(PROGRAMS ${program} DESTINATION ${CMAKE_INSTALL_BINDIR}
    COMPONENT ${component})
  mtp_install_pages(${name} ${program} ${program} ${component})
endfunction()

# Installs the pages of a program, which are written anew after a change of
# `dependency`.
function(mtp_install_pages name program dependency component)
  if(NOT Python3_Interpreter_FOUND)
    return()
  endif()
  set(script ${PROJECT_SOURCE_DIR}/tools/docs/tool_pages.py)
  set(text ${PROJECT_SOURCE_DIR}/tools/docs/man/${name}.man)
  set(folder ${PROJECT_BINARY_DIR}/pages)
  set(pages ${folder}/${name}.1 ${folder}/${name}.bash ${folder}/_${name})
  add_custom_command(OUTPUT ${pages}
    COMMAND ${Python3_EXECUTABLE} ${script} ${program} ${text}
            ${PROJECT_VERSION} ${folder}
    DEPENDS ${dependency} ${script} ${text}
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
