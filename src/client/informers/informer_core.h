#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "client/client.h"
#include "client/informers/shared_objects.h"
#include "runtime/random.h"
#include "runtime/sync.h"

namespace porthole::client {

/// Which objects an informer follows.
struct InformerOptions {
    std::string namespace_;  ///< "" for all namespaces
    std::string label_selector, field_selector;
    auto operator<=>(const InformerOptions&) const = default;
};

/// The collaborators of an informer. All outlive it.
struct InformerContext {
    EventLoop& loop;
    Client& client;
    Random& random;
    Logger log;
    SharedObjects* shared = nullptr;  ///< shared with the other components of the process; null: nothing is shared
};

/// The part of an informer that does not depend on the kind: list, watch, resume, relist, cache and notification.
///
/// After the first list every change arrives by watch, which is resumed from the last resourceVersion seen (bookmarks included). Only an
/// Expired or Gone answer leads to a new list; its objects are compared with the cache, so that handlers are called for every difference
/// exactly once. An object that cannot be decoded is logged and left out. Handlers run on the loop and see the cache and all indexes
/// already changed. The first list is delivered page by page, so that not all of its objects are decoded at a time.
class InformerCore {
public:
    using Object = InformerCodec::Object;
    using Codec = InformerCodec;
    /// The empty ones are not called. `old` and `now` of one object may have equal resourceVersions after a relist.
    struct Handlers {
        std::function<void(const Object& now)> added;
        std::function<void(const Object& old, const Object& now)> updated;
        std::function<void(const Object& last)> deleted;
    };
    using IndexFunction = std::function<std::vector<std::string>(const void* object)>;
    using IndexCounts = std::vector<std::pair<std::string, std::size_t>>;

    InformerCore(InformerContext context, Codec codec, InformerOptions options);

    /// Follows the server until cancelled.
    Task<> run();
    /// True once the first list has been delivered.
    bool synced() const { return synced_.is_set(); }
    Task<> wait_for_sync();
    const schema::Kind& kind() const { return codec_.kind; }

    /// For objects already in the cache, handlers are called before this returns.
    void subscribe(Handlers handlers);
    /// Includes objects already in the cache. Returns the index's number.
    std::size_t add_index(IndexFunction function);

    Object find(const NamespacedName& key) const;
    std::size_t size() const { return cache_.size(); }
    void visit(const std::function<void(const Object&)>& visitor) const;
    void visit_namespace(const std::string& namespace_, const std::function<void(const Object&)>& visitor) const;
    void visit_index(std::size_t index, const std::string& value, const std::function<void(const Object&)>& visitor) const;
    IndexCounts index_counts(std::size_t index, const std::string& prefix) const { return indexes_[index].counts(prefix); }

private:
    struct Entry {
        KeptObject object;
        std::string resource_version;
    };
    using Cache = std::map<NamespacedName, Entry>;
    using Cached = const Cache::value_type*;  // stays where it is until it is erased
    struct ByKey {
        bool operator()(Cached one, Cached other) const { return one->first < other->first; }
    };
    struct Index {
        IndexFunction function;
        std::map<std::string, std::set<Cached, ByKey>> entries;
        void add(const std::string& value, Cached cached) { entries[value].insert(cached); }
        void remove(const std::string& value, Cached cached);
        IndexCounts counts(const std::string& prefix) const;
        /// From the values of `object`; null: from all values.
        void remove_all(const Object& object, Cached cached);
    };

    Task<> relist();
    Task<> watch_once();
    Result<void> apply_event(std::string_view event);
    Result<KeptVersion> decode(std::string_view json) const;
    static void show(const Entry& entry, const std::function<void(const Object&)>& visitor);
    /// One invalid object must not prevent the others from being followed.
    void skip(const Error& error) const;
    void store(KeptVersion version);
    void erase(const NamespacedName& key, const Object& last);
    /// `now`, the object in `cached`, has taken the place of `old`; null for none.
    void reindex(Cached cached, const Object& old, const Object& now);

    InformerContext context_;
    Codec codec_;
    InformerOptions options_;
    std::string resource_version_;  ///< "" until listed, and after it has expired
    Cache cache_;
    std::vector<Index> indexes_;
    std::deque<Handlers> handlers_;  ///< a deque: elements do not move when a handler subscribes another
    Event synced_;
};

}  // namespace porthole::client
