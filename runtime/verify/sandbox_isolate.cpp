#include "runtime/verify/sandbox.hpp"
#include "runtime/verify/sandbox_inside.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace {

// No account has it: not nobody's, whose processes a candidate could signal.
constexpr unsigned stranger = 64'738;

constexpr int spaces = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

struct notes {
  char* text;
  size_t bytes;
  size_t used = 0;

  [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) {
    if (used >= bytes)
      return;
    va_list arguments;
    va_start(arguments, format);
    auto length = std::vsnprintf(text + used, bytes - used, format, arguments);
    va_end(arguments);
    if (length > 0)
      used += static_cast<size_t>(length);
  }
};

bool write_file(const char* path, const char* text) {
  int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  auto length = static_cast<ssize_t>(std::strlen(text));
  bool ok = ::write(fd, text, static_cast<size_t>(length)) == length;
  ::close(fd);
  return ok;
}

bool map_self(unsigned uid, unsigned gid) {
  char text[64];
  write_file("/proc/self/setgroups", "deny");
  std::snprintf(text, sizeof text, "%u %u 1", uid, uid);
  if (!write_file("/proc/self/uid_map", text))
    return false;
  std::snprintf(text, sizeof text, "%u %u 1", gid, gid);
  return write_file("/proc/self/gid_map", text);
}

// With root's own rights where there are any, else in a user namespace.
bool enter_namespaces(int wanted, notes& note) {
  if (::geteuid() == 0 && ::unshare(wanted) == 0) {
    note.add("mount, net, ipc, uts%s namespaces",
             (wanted & CLONE_NEWPID) != 0 ? ", pid" : "");
    return true;
  }
  auto uid = ::geteuid();
  auto gid = ::getegid();
  if (::unshare(wanted | CLONE_NEWUSER) != 0) {
    note.add("no namespaces (%s)", std::strerror(errno));
    return false;
  }
  if (!map_self(uid, gid)) {
    note.add("user namespace without a map (%s)", std::strerror(errno));
    return false;
  }
  note.add("user, mount, net, ipc, uts%s namespaces",
           (wanted & CLONE_NEWPID) != 0 ? ", pid" : "");
  return true;
}

bool make_parents(char* path, bool directory) {
  for (char* p = path + 1; *p != '\0'; ++p)
    if (*p == '/') {
      *p = '\0';
      if (::mkdir(path, 0755) != 0 && errno != EEXIST)
        return false;
      *p = '/';
    }
  if (directory)
    return ::mkdir(path, 0755) == 0 || errno == EEXIST;
  int fd = ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
  if (fd < 0)
    return false;
  ::close(fd);
  return true;
}

bool bind_read_only(const char* source, const char* root) {
  struct stat what {};
  if (::lstat(source, &what) != 0)
    return errno == ENOENT;
  char target[4096];
  if (std::snprintf(target, sizeof target, "%s%s", root, source)
      >= static_cast<int>(sizeof target))
    return false;
  if (S_ISLNK(what.st_mode)) { // Such as /lib, which points into /usr.
    char link[4096];
    auto length = ::readlink(source, link, sizeof link - 1);
    if (length < 0)
      return false;
    link[length] = '\0';
    return ::symlink(link, target) == 0 || errno == EEXIST;
  }
  if (!make_parents(target, S_ISDIR(what.st_mode))
      || ::mount(source, target, nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return false;
  if (S_ISCHR(what.st_mode))
    return true;
  struct mount_attr attributes {};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
  return ::syscall(SYS_mount_setattr, AT_FDCWD, target, AT_RECURSIVE,
                   &attributes, sizeof attributes)
         == 0;
}

// Every mount below is private to the new namespace and ends with it.
bool change_root(const swage_sandbox_view& view, notes& note) {
  // A folder that exists everywhere, and below which lies no path to keep.
  constexpr auto* root = "/proc";
  char options[64];
  auto bytes = view.scratch_bytes != 0 ? view.scratch_bytes : 64u << 20;
  std::snprintf(options, sizeof options, "mode=1777,size=%llu",
                static_cast<unsigned long long>(bytes));
  const auto* step = "make mounts private";
  auto refused = [&] {
    note.add("; no root of its own (cannot %s: %s)", step,
             std::strerror(errno));
    return false;
  };
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return refused();
  step = "mount a tmpfs";
  if (::mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0)
    return refused();
  for (auto* path = view.visible; path != nullptr && *path != nullptr; ++path) {
    step = *path;
    if (!bind_read_only(*path, root))
      return refused();
  }
  step = "pivot";
  if (::chdir(root) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0
      || ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0)
    return refused();
  ::mkdir("/tmp", 01777);
  ::chmod("/tmp", 01777);
  note.add("; a root of its own");
  return true;
}

bool drop_root(notes& note) {
  if (::getuid() != 0 && ::geteuid() != 0)
    return true;
  if (::setgroups(0, nullptr) != 0
      || ::setresgid(stranger, stranger, stranger) != 0
      || ::setresuid(stranger, stranger, stranger) != 0) {
    note.add("; still root (%s)", std::strerror(errno));
    return false;
  }
  note.add("; root given up");
  return true;
}

} // namespace

extern "C" int swage_sandbox_isolate(const swage_sandbox_view* view, char* text,
                                     size_t bytes) {
  using namespace swage::inside;
  note_memory();
  // A change of user clears it.
  int parents_death = 0;
  ::prctl(PR_GET_PDEATHSIG, &parents_death);
  notes note{text, bytes};
  auto wanted = spaces | (view->new_pids != 0 ? CLONE_NEWPID : 0);
  if (enter_namespaces(wanted, note))
    own_root = change_root(*view, note);
  if (!own_root)
    note.add(can_hide_files() ? "; files hidden by landlock"
                              : "; files of this user can be read");
  if (own_root || view->visible == nullptr)
    drop_root(note);
  if (parents_death != 0)
    ::prctl(PR_SET_PDEATHSIG, parents_death);
  return 0;
}
