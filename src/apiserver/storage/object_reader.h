#pragma once
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "apiserver/storage/keys.h"
#include "schema/json/json.h"
#include "store/store.h"

namespace porthole::apiserver {

/// Reads the current stored objects, for rules that depend on objects other than the one being written. Lives on the store's loop, and the
/// store must outlive it. Objects are immutable and may be kept.
class ObjectReader {
public:
    explicit ObjectReader(const store::Store& store) : store_(store) {}

    /// Null if there is none. Error: InternalError when the stored bytes cannot be read.
    template <class T>
    Result<std::shared_ptr<const T>> find(std::string_view namespace_, std::string_view name) const {
        const store::RecordPtr record = store_.get(object_key(T::kind(), namespace_, name));
        if (!record) return std::shared_ptr<const T>();
        return remembered<T>(record);
    }
    /// Of one namespace, or of all when `namespace_` is "".
    template <class T>
    Result<std::vector<std::shared_ptr<const T>>> list(std::string_view namespace_ = "") const {
        TRY(const store::Range range,
            store_.range({.prefix = namespace_.empty() ? kind_prefix(T::kind()) : namespace_prefix(T::kind(), namespace_)}));
        std::vector<std::shared_ptr<const T>> objects;
        const bool few = range.records.size() <= MostDecoded / 8;  // a long list does not displace the rest of the cache
        for (const store::RecordPtr& record : range.records) {
            TRY(auto object, few ? remembered<T>(record) : decode<T>(*record));
            objects.push_back(std::move(object));
        }
        return objects;
    }
    bool exists(const schema::Kind& kind, std::string_view namespace_, std::string_view name) const {
        return store_.get(object_key(kind, namespace_, name)) != nullptr;
    }
    /// The revision of the object's last write; 0 if it does not exist.
    store::Revision revision(const schema::Kind& kind, std::string_view namespace_, std::string_view name) const {
        const store::RecordPtr record = store_.get(object_key(kind, namespace_, name));
        return record ? record->modified : store::Revision();
    }
    /// How many objects of the kind there are in one namespace.
    Result<std::size_t> count(const schema::Kind& kind, std::string_view namespace_) const {
        TRY(const store::Range range, store_.range({.prefix = namespace_prefix(kind, namespace_)}));
        return range.records.size();
    }

private:
    template <class T>
    Result<std::shared_ptr<const T>> remembered(const store::RecordPtr& record) const {
        const auto known = decoded_.find({record, &T::kind()});
        if (known != decoded_.end()) return std::static_pointer_cast<const T>(known->second);
        TRY(auto object, decode<T>(*record));
        if (decoded_.size() == MostDecoded) decoded_.clear();
        decoded_.emplace(std::pair(record, &T::kind()), object);
        return object;
    }
    template <class T>
    static Result<std::shared_ptr<const T>> decode(const store::Record& record) {
        auto object = schema::decode_json<T>(*record.value.bytes());
        if (!object) return std::move(object).error().with_context("reading " + record.key);
        return std::make_shared<const T>(std::move(*object));
    }
    const store::Store& store_;
    /// Writes into one namespace use the same few objects again and again. By record, which is one version of one object and does not move
    /// while it is cached.
    static constexpr std::size_t MostDecoded = 256;
    mutable std::map<std::pair<store::RecordPtr, const schema::Kind*>, std::shared_ptr<const void>> decoded_;
};

}  // namespace porthole::apiserver
