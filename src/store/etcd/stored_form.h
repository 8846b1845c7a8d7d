#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::store::etcd {

/// What the store's keys and values are in etcd: where encryption happens, and what other programs may have written is understood. A
/// value is opened once, when its revision arrives, and never again. Called from any thread.
class StoredForm {
public:
    virtual ~StoredForm() = default;

    /// The key in etcd, without the prefix of all keys; begins with "/".
    virtual std::string stored_key(std::string_view key) const = 0;
    /// The other way round; nullopt for what readers are not shown.
    virtual std::optional<std::string> key_of(std::string_view stored_key) const = 0;

    /// As Row::value and Row::revision_at.
    struct Value {
        std::string bytes;
        std::optional<std::uint32_t> revision_at;
    };
    /// What to store. `pending` is kept until the value has been opened or certainly will not be stored; null: no one asks.
    struct Sealed {
        std::string bytes;
        std::shared_ptr<const void> pending = nullptr;
    };
    /// Error: the form's own.
    virtual Result<Sealed> seal(const std::string& key, Value value) = 0;
    /// Of what is stored now. What cannot be read yields a value that says why.
    virtual Value open(const std::string& key, std::string stored) = 0;
    /// The key is not stored any more: it was deleted, or was not there when everything was loaded again.
    virtual void removed(const std::string&) {}
    /// Whether seal() and open() of this key may take long: then they are called on a worker.
    virtual bool is_slow(std::string_view) const { return false; }

    /// As Engine::check_writable() and Engine::is_stale().
    virtual Result<void> check_writable(std::string_view) const { return {}; }
    virtual bool is_stale(std::string_view) const { return false; }
};

}  // namespace porthole::store::etcd
