/* A library for LD_PRELOAD that shows in which order a program flushes and
   renames files. It appends a line for each call to the file MTP_DISK_LOG:
   "flush file BYTES", "flush folder" or "rename NAME". If MTP_DISK_FAILS is
   set, no file can be flushed, as on a broken disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void note(const char *format, ...) {
  const char *path = getenv("MTP_DISK_LOG");
  int log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (log < 0)
    return;
  va_list values;
  va_start(values, format);
  vdprintf(log, format, values);
  va_end(values);
  close(log);
}

int fsync(int file) {
  struct stat info;
  int isFile = fstat(file, &info) == 0 && S_ISREG(info.st_mode);
  if (isFile && getenv("MTP_DISK_FAILS")) {
    errno = EIO;
    return -1;
  }
  if (isFile)
    note("flush file %lld\n", (long long)info.st_size);
  else
    note("flush folder\n");
  return (int)syscall(SYS_fsync, file);
}

static void noteRename(const char *to) {
  const char *slash = strrchr(to, '/');
  note("rename %s\n", slash ? slash + 1 : to);
}

int rename(const char *from, const char *to) {
  noteRename(to);
  return (int)syscall(SYS_rename, from, to);
}

int renameat(int folder, const char *from, int other, const char *to) {
  noteRename(to);
  return (int)syscall(SYS_renameat, folder, from, other, to);
}
