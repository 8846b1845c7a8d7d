#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

/// User namespaces: in one of them 0 is root over what belongs to the namespace, and a user without rights on the machine. Linux only.
namespace porthole {

/// `count` users and as many groups, from `inside` of a user namespace, that are those from `outside` on the machine.
struct IdRange {
    std::uint32_t inside = 0, outside = 0, count = 0;
};

/// One user namespace, held by a descriptor; the namespaces that belong to it keep it, too. Blocking; any thread may call. Errors: Io.
class UserNamespace {
public:
    /// Ids that one container's users need.
    static constexpr std::uint32_t Ids = 65536;

    static Result<UserNamespace> create(const std::vector<IdRange>& ranges);
    /// The one to which the network namespace at `path` belongs: its root rules that network. Nothing where it is that of
    /// this process.
    static Result<std::optional<UserNamespace>> owner_of(const std::string& path);

    UserNamespace(UserNamespace&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UserNamespace& operator=(UserNamespace&&) = delete;
    ~UserNamespace();

    int descriptor() const { return fd_; }
    /// For other processes of root, while this one is there.
    std::string path() const;
    /// Who its root is on the machine.
    Result<std::uint32_t> root() const;
    /// Makes a network namespace that belongs to it, with its loopback device up, and mounts it on the file at `path`.
    Result<void> make_network_namespace(const std::string& path) const;

private:
    explicit UserNamespace(int fd) : fd_(fd) {}

    int fd_;
};

}  // namespace porthole
