#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace porthole::store {

/// Bytes shared by all senders; the same type as net::Bytes.
using Bytes = std::shared_ptr<const std::string>;

/// The bytes of one version of one key: as they are, or packed, as their difference from those of a similar object. Immutable; copies share
/// the bytes.
class StoredValue {
public:
    StoredValue() = default;
    StoredValue(Bytes bytes) : bytes_(std::move(bytes)), size_(bytes_ ? bytes_->size() : 0) {}
    /// Of the bytes of `value`, which is not packed. Refers to `base`.
    static StoredValue packed(Bytes base, const StoredValue& value);

    /// Never null, unless there is no value. Of a packed value, these are new at each call: keep them while they are needed.
    Bytes bytes() const { return difference_ ? unpacked() : bytes_; }
    std::size_t size() const { return size_; }
    bool starts_with(std::string_view prefix) const;
    bool is_packed() const { return difference_ != nullptr; }
    /// Bytes of memory that it takes, apart from those of the base.
    std::size_t own_size() const { return difference_ ? difference_->size() : size_; }

private:
    Bytes unpacked() const;

    Bytes bytes_;       // whole, or what the difference is from
    Bytes difference_;  // null: not packed
    std::size_t size_ = 0;
};

}  // namespace porthole::store
