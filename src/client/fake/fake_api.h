#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/registry.h"
#include "client/client.h"
#include "runtime/sync.h"
#include "schema/value.h"

namespace porthole::client {

/// An API in memory for tests of API clients: objects with resourceVersions, generations, finalizers, deletion and watches of every
/// built-in kind, and faults that a test requests.
///
/// It has no defaults, validation, admission or server-side apply. What it supports behaves as in the real server.
class FakeApi final : public Transport {
public:
    explicit FakeApi(EventLoop& loop, const schema::Registry& registry = api::registry());
    ~FakeApi() override;

    Task<ApiResponse> call(ApiRequest request) override;
    Task<std::unique_ptr<ApiStream>> watch(ApiRequest request) override;

    // Changes by a test, unseen by the component; none of them fails or takes time.
    /// Creates, or replaces including status; returns the object as stored.
    template <class T>
    T put(const T& object) {
        return *schema::from_value<T>(put_value(T::kind(), schema::to_value(object)));
    }
    template <class T>
    std::optional<T> find(const NamespacedName& key) const {
        const schema::Value* value = find_value(T::kind(), key);
        if (!value) return std::nullopt;
        return *schema::from_value<T>(*value);
    }
    template <class T>
    std::vector<T> list(const std::string& namespace_ = "") const {
        std::vector<T> objects;
        for (const schema::Value* value : list_values(T::kind(), namespace_)) objects.push_back(*schema::from_value<T>(*value));
        return objects;
    }
    /// Requires: the object is there.
    template <class T>
    T change(const NamespacedName& key, const std::function<void(T&)>& change) {
        T object = *find<T>(key);
        change(object);
        return put(object);
    }
    /// Removes it immediately, with or without finalizers.
    template <class T>
    void erase(const NamespacedName& key) {
        erase_value(T::kind(), key);
    }
    /// As a user deletes it.
    template <class T>
    void remove(const NamespacedName& key, const DeleteOptions& options = {}) {
        (void)delete_object(T::kind(), key, options);
    }

    // Faults.
    /// Called before every request; its result is the answer.
    void set_fault(std::function<std::optional<Error>(const ApiRequest&)> fault) { fault_ = std::move(fault); }
    /// Called before every request that no fault answers, for resources that this API does not have, such as other servers' groups.
    void set_answer(std::function<std::optional<schema::Value>(const ApiRequest&)> answer) { other_ = std::move(answer); }
    /// Every open watch breaks off.
    void drop_watches();
    /// Drops the history: open watches, and watches from an earlier revision, get 410.
    void expire_watches();
    /// Every call takes this long.
    void set_latency(Duration latency) { latency_ = latency; }

    struct Seen {
        std::string method, path, query, body;
    };
    /// All calls since the last clear_requests(), without watches.
    const std::vector<Seen>& requests() const { return requests_; }
    void clear_requests() { requests_.clear(); }
    std::size_t open_watches() const { return streams_.size(); }

private:
    struct Target;
    struct Change;
    class Stream;
    using Objects = std::map<NamespacedName, schema::Value>;

    schema::Value put_value(const schema::Kind& kind, schema::Value object);
    const schema::Value* find_value(const schema::Kind& kind, const NamespacedName& key) const;
    std::vector<const schema::Value*> list_values(const schema::Kind& kind, const std::string& namespace_) const;
    void erase_value(const schema::Kind& kind, const NamespacedName& key);

    Result<Target> resolve(const std::string& path) const;
    std::optional<schema::Value> answer_discovery(const std::string& path) const;
    Result<schema::Value> answer(const ApiRequest& request);
    Result<schema::Value> list_objects(const Target& target, const std::string& query);
    Result<schema::Value> create_object(const Target& target, schema::Value object);
    Result<schema::Value> update_object(const Target& target, schema::Value object);
    /// GET and PUT of the subresource.
    Result<schema::Value> scale_object(const Target& target, const ApiRequest& request);
    Result<schema::Value> patch_object(const Target& target, const ApiRequest& request);
    Result<schema::Value> delete_object(const schema::Kind& kind, const NamespacedName& key, const DeleteOptions& options);
    /// Stores the object and notifies the watches, or removes it if it is deleted and has no finalizers.
    void commit(const schema::Kind& kind, const NamespacedName& key, schema::Value object);
    void publish(const schema::Kind& kind, const char* type, const schema::Value& object);

    EventLoop& loop_;
    const schema::Registry& registry_;
    std::map<const schema::Kind*, Objects> objects_;
    std::vector<Change> history_;
    std::set<Stream*> streams_;
    std::int64_t revision_ = 1, forgotten_ = 0;
    std::uint64_t names_ = 0;
    std::function<std::optional<Error>(const ApiRequest&)> fault_;
    std::function<std::optional<schema::Value>(const ApiRequest&)> other_;
    Duration latency_{};
    std::vector<Seen> requests_;
};

}  // namespace porthole::client
