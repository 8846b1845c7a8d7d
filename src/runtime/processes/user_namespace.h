#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

/// User namespaces: inside of one, user 0 is root over everything that belongs to the namespace, and on the machine it is a user without
/// rights. Linux only.
namespace porthole {

/// `count` users and as many groups: `inside` is the first one in a user namespace, `outside` the same one on the machine.
struct IdRange {
    std::uint32_t inside = 0, outside = 0, count = 0;
};

/// One user namespace, held by a descriptor; namespaces that belong to it also keep it alive. Blocking; any thread may call. Errors: Io.
class UserNamespace {
public:
    /// Ids that one container's users need.
    static constexpr std::uint32_t Ids = 65536;

    static Result<UserNamespace> create(const std::vector<IdRange>& ranges);
    /// The user namespace that owns the network namespace at `path`. Nullopt if it is that of this process.
    static Result<std::optional<UserNamespace>> owner_of(const std::string& path);

    UserNamespace(UserNamespace&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UserNamespace& operator=(UserNamespace&&) = delete;
    ~UserNamespace();

    int descriptor() const { return fd_; }
    /// A path for other processes of root, valid while this object exists.
    std::string path() const;
    /// The uid of its root on the machine.
    Result<std::uint32_t> root() const;
    /// Creates a network namespace that belongs to it, with its loopback device up, and mounts it on the file at `path`.
    Result<void> make_network_namespace(const std::string& path) const;

private:
    explicit UserNamespace(int fd) : fd_(fd) {}

    int fd_;
};

}  // namespace porthole
