#include "store/stored_value.h"

#include "store/difference.h"

namespace porthole::store {

StoredValue StoredValue::packed(Bytes base, const StoredValue& value) {
    StoredValue result;
    result.difference_ = std::make_shared<const std::string>(difference_from(*base, *value.bytes_));
    result.bytes_ = std::move(base);
    result.size_ = value.size_;
    return result;
}

bool StoredValue::starts_with(std::string_view prefix) const {
    if (!difference_) return bytes_->starts_with(prefix);
    return size_ >= prefix.size() && restored(*bytes_, *difference_, prefix.size()) == prefix;
}

Bytes StoredValue::unpacked() const { return std::make_shared<const std::string>(restored(*bytes_, *difference_, size_)); }

}  // namespace porthole::store
