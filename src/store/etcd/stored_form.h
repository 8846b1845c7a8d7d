#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::store::etcd {

/// The form of the store's keys and values in etcd: encrypts them, and interprets what other programs may have written. A value is opened
/// once, when its revision arrives. Called from any thread.
class StoredForm {
public:
    virtual ~StoredForm() = default;

    /// The key in etcd, without the prefix of all keys; begins with "/".
    virtual std::string stored_key(std::string_view key) const = 0;
    /// The reverse; nullopt for keys that are hidden from readers.
    virtual std::optional<std::string> key_of(std::string_view stored_key) const = 0;

    /// As Row::value and Row::revision_at.
    struct Value {
        std::string bytes;
        std::optional<std::uint32_t> revision_at;
    };
    /// The bytes to store. `pending` is kept until the value has been opened or certainly will not be stored; may be null.
    struct Sealed {
        std::string bytes;
        std::shared_ptr<const void> pending = nullptr;
    };
    /// Error: the form's own.
    virtual Result<Sealed> seal(const std::string& key, Value value) = 0;
    /// Of a stored value. If it cannot be read, the result describes the reason.
    virtual Value open(const std::string& key, std::string stored) = 0;
    /// The key is no longer stored: it was deleted, or was absent when everything was loaded again.
    virtual void removed(const std::string&) {}
    /// Whether seal() and open() of this key may take long; they are then called on a worker.
    virtual bool is_slow(std::string_view) const { return false; }

    /// As Engine::check_writable() and Engine::is_stale().
    virtual Result<void> check_writable(std::string_view) const { return {}; }
    virtual bool is_stale(std::string_view) const { return false; }
};

}  // namespace porthole::store::etcd
