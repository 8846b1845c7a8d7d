#pragma once
#include "store/etcd/stored_form.h"

namespace porthole::store::etcd {

/// Keys are unchanged; a value is prefixed with the offset of its revision: "7;{\"rv\":\"\"}", ";v" if it has none.
class PlainForm : public StoredForm {
public:
    std::string stored_key(std::string_view key) const override { return std::string(key); }
    std::optional<std::string> key_of(std::string_view stored_key) const override { return std::string(stored_key); }
    Result<Sealed> seal(const std::string&, Value value) override {
        return Sealed{(value.revision_at ? std::to_string(*value.revision_at) : "") + ";" + value.bytes};
    }
    Value open(const std::string&, std::string stored) override {
        const std::size_t end = stored.find(';');
        if (end == stored.npos) return {"(unreadable)", {}};
        Value value{stored.substr(end + 1), {}};
        if (end > 0) value.revision_at = static_cast<std::uint32_t>(std::stoul(stored.substr(0, end)));
        return value;
    }
};

}  // namespace porthole::store::etcd
