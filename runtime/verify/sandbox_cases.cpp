#include "runtime/verify/sandbox_inside.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace swage::inside {

bool own_root = false;

namespace {

uint64_t noted_bytes = uint64_t{256} << 20;

// Addresses cost nothing, and an index that is wrong by a row goes far.
constexpr uint64_t guard_bytes = 256 * 1024;

// Read with pread, not mapped: a copy cannot change under our feet.
bool read_all(int fd, void* into, size_t bytes, uint64_t& offset) {
  auto* to = static_cast<char*>(into);
  auto end = offset + bytes;
  while (offset < end) {
    auto n = ::pread(fd, to, end - offset, static_cast<off_t>(offset));
    if (n <= 0)
      return false;
    to += n;
    offset += static_cast<uint64_t>(n);
  }
  return true;
}

uint64_t reservation(const cases& of) {
  uint64_t bytes = guard_bytes;
  for (uint32_t i = 0; i < of.job.tensors; ++i)
    bytes += of.tensors[i].region_bytes + guard_bytes;
  return bytes * of.job.cases;
}

} // namespace

void note_memory() {
  int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  char text[64] = {};
  if (::read(fd, text, sizeof text - 1) > 0)
    noted_bytes = std::strtoull(text, nullptr, 10) * control::page_bytes;
  ::close(fd);
}

uint64_t noted_memory() {
  return noted_bytes;
}

const char* map_cases(const job_files& files, cases& into) {
  uint64_t offset = control::page_bytes;
  if (!read_all(files.control, &into.job, sizeof into.job, offset))
    return "cannot read the job";
  const auto& job = into.job;
  if (job.magic != control::magic || job.version != control::version
      || job.tensors > cases::max_tensors || job.sizes > cases::max_sizes
      || job.cases == 0)
    return "the job has another version, or too many arguments";
  if (!read_all(files.control, into.tensors,
                job.tensors * sizeof into.tensors[0], offset)
      || !read_all(files.control, into.sizes, job.sizes * sizeof into.sizes[0],
                   offset))
    return "cannot read the job's arguments";
  into.mapped_bytes = reservation(into);
  auto* base = ::mmap(nullptr, into.mapped_bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return "cannot reserve the cases' addresses";
  into.regions = static_cast<char**>(
    std::calloc(size_t{job.cases} * job.tensors + 1, sizeof(char*)));
  if (into.regions == nullptr)
    return "out of memory";
  auto* at = static_cast<char*>(base);
  for (uint32_t which = 0; which < job.cases; ++which) {
    at += guard_bytes;
    for (uint32_t i = 0; i < job.tensors; ++i) {
      const auto& t = into.tensors[i];
      auto access = t.writable != 0 ? PROT_READ | PROT_WRITE : PROT_READ;
      auto file = t.writable != 0 ? files.data : files.inputs;
      auto from = static_cast<off_t>(which * job.case_bytes + t.region_offset);
      if (::mmap(at, t.region_bytes, access, MAP_SHARED | MAP_FIXED, file, from)
          == MAP_FAILED)
        return "cannot map a tensor";
      into.regions[which * job.tensors + i] = at;
      at += t.region_bytes + guard_bytes;
    }
  }
  noted_bytes += into.mapped_bytes;
  return nullptr;
}

control::page* map_page(int control_fd) {
  auto* memory = ::mmap(nullptr, control::page_bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED, control_fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<control::page*>(memory);
}

} // namespace swage::inside
