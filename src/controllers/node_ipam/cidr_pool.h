#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ip.h"

namespace porthole::controllers {

/// Hands out the equal parts of a range of addresses, the first free one first.
class CidrPool {
public:
    /// Parts of `length` bits. Error: BadRequest when the range cannot be cut so, or into more than 2^16 parts.
    static Result<CidrPool> create(const IpPrefix& range, int length);

    /// nullopt when none is left.
    std::optional<IpPrefix> take();
    /// Everything that overlaps `prefix` is taken, if it was not. Harmless outside the range.
    void occupy(const IpPrefix& prefix);
    void release(const IpPrefix& prefix);
    std::size_t free() const { return free_; }

private:
    CidrPool(const IpPrefix& range, int length, std::size_t parts) : range_(range), length_(length), taken_(parts), free_(parts) {}
    IpPrefix part(std::size_t index) const;
    void set(const IpPrefix& prefix, bool taken);

    IpPrefix range_;
    int length_;
    std::vector<bool> taken_;
    std::size_t free_;
};

}  // namespace porthole::controllers
