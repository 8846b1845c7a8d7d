#pragma once  // private to this folder
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "client/informers/informer_codec.h"
#include "store/value_packer.h"

namespace porthole::client {

class SharedObjectTable;

/// One version of an object, which the caches of several informers hold. Thread-safe.
class SharedObject : public std::enable_shared_from_this<SharedObject> {
public:
    using Object = InformerCodec::Object;

    /// `type`: of the decoded object, if it may be packed. `size`: of the JSON that it was decoded from.
    SharedObject(std::shared_ptr<SharedObjectTable> table, std::string key, InformerCodec::Decode decode, const schema::Type* type,
                 std::size_t size, Object decoded)
        : table_(std::move(table)), key_(std::move(key)), decode_(decode), type_(type), size_(size), decoded_(std::move(decoded)) {}
    ~SharedObject();

    /// Null if it cannot be decoded.
    Object get();

private:
    friend SharedObjectTable;
    enum class Place : std::uint8_t {
        Elsewhere,  ///< packed, about to be packed, or never packed
        Listed,     ///< decoded, and in the table's list
        Unpackable,
    };

    const std::shared_ptr<SharedObjectTable> table_;
    const std::string key_;
    const InformerCodec::Decode decode_;
    const schema::Type* const type_;
    const std::size_t size_;
    // Guarded by the table's mutex, unless `type_` is null: then nothing of it changes.
    Object decoded_;             // null while it is packed
    store::StoredValue packed_;  // its JSON; empty until it has been packed once
    Place place_ = Place::Elsewhere;
    std::list<SharedObject*>::iterator listed_;
};

/// All shared objects of a process that are alive, by their keys, and the order in which those that may be packed were used. Thread-safe.
class SharedObjectTable {
public:
    using Object = InformerCodec::Object;

    explicit SharedObjectTable(std::size_t most_decoded) : most_decoded_(most_decoded) {}

    std::shared_ptr<SharedObject> find(const std::string& key) const;
    /// `object`, or the one of its key that another thread has put there meanwhile.
    std::shared_ptr<SharedObject> keep(std::shared_ptr<SharedObject> object);
    /// The last holder of `object` has let go. Its successor may be in place already.
    void forget(SharedObject& object);
    /// As SharedObject::get(), for one that may be packed.
    Object unpacked(SharedObject& object);
    /// Packs objects until those that are decoded are few enough, or enough was done for one call.
    void pack_unused();

    std::size_t size() const;
    std::size_t decoded_json() const;
    std::uint64_t times_unpacked() const;

private:
    static constexpr int MostPacked = 16;  ///< in one call, which a component waits for: about a millisecond

    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
        std::size_t operator()(const SharedObject* object) const { return (*this)(object->key_); }
    };
    struct Equal {
        using is_transparent = void;
        bool operator()(const SharedObject* one, const SharedObject* other) const { return one->key_ == other->key_; }
        bool operator()(std::string_view key, const SharedObject* object) const { return key == object->key_; }
        bool operator()(const SharedObject* object, std::string_view key) const { return key == object->key_; }
    };
    /// One that is taken off the list: what it is now, and its packed form if it has one.
    struct Unused {
        std::shared_ptr<SharedObject> object;
        Object decoded;
        store::StoredValue packed;
    };

    std::shared_ptr<SharedObject> find_locked(const std::string& key) const;
    void use_locked(SharedObject& object);
    void unlist_locked(SharedObject& object);
    bool take_unused(Unused& unused);
    /// Nullopt if the object would be another one after it.
    std::optional<store::StoredValue> pack(const SharedObject& object, const void* decoded);

    const std::size_t most_decoded_;
    mutable std::mutex mutex_;
    // Guarded by mutex_:
    std::unordered_set<SharedObject*, Hash, Equal> objects_;
    std::list<SharedObject*> used_;  // the last one was used least recently
    std::size_t decoded_json_ = 0;   // of those in used_
    std::uint64_t times_unpacked_ = 0;

    std::mutex packing_;  // never held together with mutex_
    store::ValuePacker packer_;
};

}  // namespace porthole::client
