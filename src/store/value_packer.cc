#include "store/value_packer.h"

#include <string>

namespace porthole::store {
namespace {

constexpr std::size_t SmallestValue = 256;
constexpr std::size_t LargestValue = 32 << 10;  ///< so that bases need not take more than Bases times this

std::string family_of(std::string_view key, std::size_t size) {
    const std::size_t name = key.rfind('/') + 1;
    const std::size_t dash = key.rfind('-');
    std::string family(key.substr(0, dash == key.npos || dash < name ? name : dash + 1));
    return family + std::to_string(size >> 10);
}

}  // namespace

StoredValue ValuePacker::pack(std::string_view key, const StoredValue& value) {
    if (value.is_packed() || value.size() < SmallestValue || value.size() > LargestValue) return value;
    std::string family = family_of(key, value.size());
    if (const Bytes* base = bases_.find(family)) {
        if (*base == value.bytes()) return value;
        StoredValue packed = StoredValue::packed(*base, value);
        if (packed.own_size() < value.size() / 2) return packed;
    }
    bases_.put(std::move(family), value.bytes());
    return value;
}

}  // namespace porthole::store
