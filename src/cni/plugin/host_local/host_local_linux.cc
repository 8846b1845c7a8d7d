#include "cni/plugin/host_local/host_local.h"

#include "runtime/files/file_lock.h"

namespace porthole::cni {
namespace {

class Flock final : public FileLock {
public:
    explicit Flock(porthole::FileLock lock) : lock_(std::move(lock)) {}

private:
    porthole::FileLock lock_;
};

class Flocks final : public FileLocks {
public:
    Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
        TRY(auto lock, porthole::FileLock::take(path));
        return std::make_unique<Flock>(std::move(lock));
    }
};

}  // namespace

std::unique_ptr<FileLocks> make_file_locks() { return std::make_unique<Flocks>(); }

HostLocalOptions default_host_local_options() { return {.data_dir = "/var/lib/cni/networks", .colons = true}; }

}  // namespace porthole::cni
