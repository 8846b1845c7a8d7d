#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/processes/process_memory.h"

namespace porthole {
namespace {

Duration duration(const timeval& time) { return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec); }

/// Segments that cannot be written are the file's pages: the kernel forgets that they are mapped, and maps them again when touched.
int forget_constant_segments(dl_phdr_info* object, std::size_t, void*) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W)) continue;
        const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
        const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
        ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }
    return 0;
}

class OwnMemory final : public ProcessMemory {
public:
    Duration used_time() const override {
        rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        return duration(usage.ru_utime) + duration(usage.ru_stime);
    }
    void give_back() override {
        ::malloc_trim(0);
        ::dl_iterate_phdr(forget_constant_segments, nullptr);
    }
};

}  // namespace

std::unique_ptr<ProcessMemory> make_process_memory() { return std::make_unique<OwnMemory>(); }

}  // namespace porthole
