#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client/informers/informer_core.h"
#include "runtime/scope.h"

namespace porthole::client {

/// A cache of all objects of a kind (or of a selection), kept up to date by a watch, with handlers for every change.
///
/// Cached objects are immutable and may be kept, though a pod that is kept takes memory that it does not take in the cache (SharedObjects);
/// a change puts a new object in the old one's place. Lists are in order of namespace and name. metadata.managedFields is left out. See
/// InformerCore for how it follows the server. Lives on one loop. Handlers cannot be unsubscribed: what they refer to must outlive run().
template <class T>
class Informer {
public:
    using Object = std::shared_ptr<const T>;
    struct Handlers {
        std::function<void(const Object& now)> added;
        std::function<void(const Object& old, const Object& now)> updated;
        std::function<void(const Object& last)> deleted;
    };

    Informer(InformerContext context, InformerOptions options = {}) : Informer(std::move(context), T::kind(), false, std::move(options)) {}
    /// Only the metadata of any kind, for T = ObjectMetadata.
    Informer(InformerContext context, const schema::Kind& kind, bool metadata_only, InformerOptions options)
        : core_(std::move(context), {kind, metadata_only, decode, &T::schema_type()}, std::move(options)) {}

    Task<> run() { return core_.run(); }
    bool synced() const { return core_.synced(); }
    Task<> wait_for_sync() { return core_.wait_for_sync(); }
    InformerCore& core() { return core_; }

    void subscribe(Handlers handlers) {
        InformerCore::Handlers erased;
        if (handlers.added) erased.added = [f = std::move(handlers.added)](const InformerCore::Object& now) { f(typed(now)); };
        if (handlers.updated) {
            erased.updated = [f = std::move(handlers.updated)](const InformerCore::Object& old, const InformerCore::Object& now) {
                f(typed(old), typed(now));
            };
        }
        if (handlers.deleted) erased.deleted = [f = std::move(handlers.deleted)](const InformerCore::Object& last) { f(typed(last)); };
        core_.subscribe(std::move(erased));
    }
    /// One handler for all kinds of changes, called with the newest known state.
    void on_change(std::function<void(const T&)> handler) {
        subscribe({.added = [handler](const Object& now) { handler(*now); },
                   .updated = [handler](const Object&, const Object& now) { handler(*now); },
                   .deleted = [handler](const Object& last) { handler(*last); }});
    }

    /// nullptr if there is none.
    Object find(const NamespacedName& key) const { return typed(core_.find(key)); }
    std::size_t size() const { return core_.size(); }
    std::vector<Object> list() const {
        std::vector<Object> objects;
        objects.reserve(size());
        core_.visit([&](const InformerCore::Object& object) { objects.push_back(typed(object)); });
        return objects;
    }
    std::vector<Object> list(const std::string& namespace_) const {
        std::vector<Object> objects;
        core_.visit_namespace(namespace_, [&](const InformerCore::Object& object) { objects.push_back(typed(object)); });
        return objects;
    }

    /// As list(), without all of them in memory at a time.
    void visit(const std::string& namespace_, const std::function<void(const T&)>& visitor) const {
        core_.visit_namespace(namespace_, [&](const InformerCore::Object& object) { visitor(*typed(object)); });
    }

    /// Finds objects by values that a function computes from each.
    class Index {
    public:
        std::vector<Object> find(const std::string& value) const {
            std::vector<Object> objects;
            informer_->core_.visit_index(number_, value, [&](const InformerCore::Object& object) { objects.push_back(typed(object)); });
            return objects;
        }
        /// The values that begin with `prefix`, in order, and how many objects have each. Decodes no object.
        InformerCore::IndexCounts counts(const std::string& prefix = "") const { return informer_->core_.index_counts(number_, prefix); }

    private:
        friend Informer;
        Index(const Informer* informer, std::size_t number) : informer_(informer), number_(number) {}
        const Informer* informer_;
        std::size_t number_;
    };
    /// The index borrows the informer.
    Index add_index(std::function<std::vector<std::string>(const T&)> values) {
        return Index(this,
                     core_.add_index([values = std::move(values)](const void* object) { return values(*static_cast<const T*>(object)); }));
    }

private:
    static Object typed(const InformerCore::Object& object) { return std::static_pointer_cast<const T>(object); }
    static Result<InformerCore::Codec::Decoded> decode(std::string_view json) {
        TRY(T value, schema::decode_json<T>(json));
        // No component reads managedFields, which are half of an object. A write without them does not change the stored ones.
        value.metadata.managed_fields = decltype(value.metadata.managed_fields)();  // not `= {}`, which would keep the memory
        // Pods have five, one after the other, and room for eight then.
        if constexpr (requires { value.status.conditions.shrink_to_fit(); }) value.status.conditions.shrink_to_fit();
        auto object = std::make_shared<const T>(std::move(value));
        NamespacedName key = key_of(*object);
        std::string version = object->metadata.resource_version;
        return InformerCore::Codec::Decoded{std::move(object), std::move(key), std::move(version)};
    }

    InformerCore core_;
};

/// Owns the informers of one or more components on the same loop; requests for the same selection share one informer. close() it before
/// destroying it, and before destroying what the handlers refer to.
class Informers {
public:
    explicit Informers(InformerContext context) : context_(context), scope_(context.loop) {}

    template <class T>
    Informer<T>& get(InformerOptions options = {}) {
        return get<T>(T::kind(), false, std::move(options));
    }
    template <class T>
    Informer<T>& get(const schema::Kind& kind, bool metadata_only, InformerOptions options = {}) {
        auto& slot = informers_[Key{&kind, metadata_only, options}];
        if (!slot) {
            auto holder = std::make_unique<Holder<T>>(context_, kind, metadata_only, std::move(options));
            InformerCore& core = holder->informer.core();
            slot = std::move(holder);
            if (started_) scope_.spawn(core.run());
        }
        return static_cast<Holder<T>&>(*slot).informer;
    }
    /// Runs all informers, and those that are requested later.
    void start() {
        started_ = true;
        for (auto& [key, holder] : informers_) scope_.spawn(holder->core().run());
    }
    /// Ends when all informers that exist now have their first list.
    Task<> wait_for_sync() {
        std::vector<InformerCore*> cores;
        for (auto& [key, holder] : informers_) cores.push_back(&holder->core());
        for (InformerCore* core : cores) CO_TRY_VOID(co_await core->wait_for_sync());
        co_return {};
    }
    Task<> close() { return scope_.close(); }

private:
    using Key = std::tuple<const schema::Kind*, bool, InformerOptions>;
    struct AnyHolder {
        virtual ~AnyHolder() = default;
        virtual InformerCore& core() = 0;
    };
    template <class T>
    struct Holder final : AnyHolder {
        Holder(const InformerContext& context, const schema::Kind& kind, bool metadata_only, InformerOptions options)
            : informer(context, kind, metadata_only, std::move(options)) {}
        InformerCore& core() override { return informer.core(); }
        Informer<T> informer;
    };

    InformerContext context_;
    std::map<Key, std::unique_ptr<AnyHolder>> informers_;
    bool started_ = false;
    Scope scope_;
};

}  // namespace porthole::client
