#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
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

class SharedObjects;

/// What an informer runs on. All outlive it.
struct InformerContext {
    EventLoop& loop;
    Client& client;
    Random& random;
    Logger log;
    SharedObjects* shared = nullptr;  ///< with the other components of the process; null to share nothing
};

/// The part of an informer that does not depend on the kind: list, watch, resume, relist, cache and notification.
///
/// After the first list every change arrives by watch, which is resumed from the last resourceVersion seen (bookmarks included).
/// Only an Expired or Gone answer leads to a new list; what it shows is compared with the cache, so that handlers hear of every
/// difference exactly once. An object that cannot be read is logged and left out. Handlers run on the loop and see the cache and all
/// indexes already changed.
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

    InformerCore(InformerContext context, Codec codec, InformerOptions options);

    /// Follows the server until cancelled.
    Task<> run();
    /// True once the first list has been delivered.
    bool synced() const { return synced_.is_set(); }
    Task<> wait_for_sync();
    const schema::Kind& kind() const { return codec_.kind; }

    /// Handlers are called at once, before this returns, for what is in the cache already.
    void subscribe(Handlers handlers);
    /// Covers what is in the cache already, too. Yields the index's number.
    std::size_t add_index(IndexFunction function);

    Object find(const NamespacedName& key) const;
    std::size_t size() const { return cache_.size(); }
    void visit(const std::function<void(const Object&)>& visitor) const;
    void visit_namespace(const std::string& namespace_, const std::function<void(const Object&)>& visitor) const;
    void visit_index(std::size_t index, const std::string& value, const std::function<void(const Object&)>& visitor) const;

private:
    struct Entry {
        Object object;
        std::string resource_version;
    };
    struct Index {
        IndexFunction function;
        std::map<std::string, std::map<NamespacedName, Object>> entries;
    };

    Task<> relist();
    Task<> watch_once();
    Result<void> apply_event(std::string_view event);
    Result<Codec::Decoded> decode(std::string_view json) const;
    /// One bad object must not keep all others from being followed.
    void skip(const Error& error) const;
    void store(Codec::Decoded decoded);
    void erase(const NamespacedName& key, const Object& last);
    void index(const NamespacedName& key, const Object* old, const Object* now);

    InformerContext context_;
    Codec codec_;
    InformerOptions options_;
    std::string resource_version_;  ///< "" until listed, and again when it has expired
    std::map<NamespacedName, Entry> cache_;
    std::vector<Index> indexes_;
    std::deque<Handlers> handlers_;  ///< stays in place while a handler subscribes another
    Event synced_;
};

}  // namespace porthole::client
