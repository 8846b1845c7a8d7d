#include "controllers/node_ipam/cidr_pool.h"

#include <algorithm>

namespace porthole::controllers {

namespace {

constexpr int MostBits = 16;

}  // namespace

Result<CidrPool> CidrPool::create(const IpPrefix& range, int length) {
    const int bits = length - range.length();
    if (bits < 0 || bits > MostBits || length > range.base().bits()) {
        return Error(Reason::BadRequest, "the cluster's range " + range.to_string() + " cannot be cut into node ranges of /" +
                                             std::to_string(length) + "; choose another --cluster-cidr");
    }
    return CidrPool(range, length, std::size_t{1} << bits);
}

std::optional<IpPrefix> CidrPool::take() {
    const auto found = std::ranges::find(taken_, false);
    if (found == taken_.end()) return std::nullopt;
    *found = true;
    --free_;
    return part(static_cast<std::size_t>(found - taken_.begin()));
}

void CidrPool::occupy(const IpPrefix& prefix) { set(prefix, true); }
void CidrPool::release(const IpPrefix& prefix) { set(prefix, false); }

IpPrefix CidrPool::part(std::size_t index) const {
    const int shift = range_.base().bits() - length_;
    if (shift < 64) return IpPrefix(range_.base().plus(static_cast<std::uint64_t>(index) << shift), length_);
    // Parts of /64 and larger: the index counts in the upper half of the address.
    auto bytes = range_.base().bytes();
    std::uint64_t upper = 0;
    for (int i = 0; i < 8; ++i) upper = upper << 8 | bytes[static_cast<std::size_t>(i)];
    upper += static_cast<std::uint64_t>(index) << (shift - 64);
    for (int i = 7; i >= 0; --i, upper >>= 8) bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(upper);
    return IpPrefix(IpAddress::v6(bytes), length_);
}

void CidrPool::set(const IpPrefix& prefix, bool taken) {
    if (!range_.overlaps(prefix)) return;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
        if (taken_[i] == taken || !part(i).overlaps(prefix)) continue;
        taken_[i] = taken;
        free_ += taken ? -1 : 1;
    }
}

}  // namespace porthole::controllers
