#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/request/user.h"
#include "apiserver/validation/api_object.h"
#include "apiserver/validation/field_errors.h"
#include "apiserver/validation/names.h"
#include "base/time/time.h"
#include "runtime/event_loop.h"
#include "store/store.h"

namespace porthole::apiserver {

/// When metadata.generation counts up.
enum class Generation : std::uint8_t {
    None,  ///< the field stays absent
    OnSpecChange,
    OnSpecOrAnnotationChange,
    OnChangeOutsideMetadata,
    Constant,  ///< 1 from the start
};

/// Input of a rule in addition to the objects. Valid for one call.
struct WriteContext {
    const User& user;
    Timestamp now;
    bool dry_run = false;
    std::string_view subresource = "";  ///< through which the object is written; "" for the object itself
};

/// Further conditions and records that are committed together with an object, such as a service's address.
struct TransactionDraft {
    std::vector<store::Guard> guards;
    std::vector<store::Operation> operations;
};

/// A field that selectors may name.
struct SelectableField {
    std::string_view name;            ///< dotted, for example "spec.nodeName"
    std::string_view absent = "";     ///< its text where the object does not have it
    std::string_view path = "";       ///< where it is in the object, if that is not its name
    std::string_view otherwise = "";  ///< a path whose text is used if there is nothing at `path`
};

/// A subresource that writes a part of the object itself, such as pods/ephemeralcontainers.
struct SubresourceStrategy {
    /// Keeps the parts of `object` that the subresource may change; the rest becomes as in `old`.
    std::function<void(ApiObject& object, const ApiObject& old, const WriteContext&)> prepare;
    std::function<void(const ApiObject&, const ApiObject& old, FieldErrors&)> validate = {};  ///< may be empty
    bool keeps_generation = false;  ///< its changes do not increase metadata.generation
    bool keeps_defaults = false;    ///< no field that it changes has a default
};

/// A kind's behavior beyond its table, as upstream's strategies. A kind without one of its own has these defaults.
///
/// Every function may be empty. Objects are in the stored version. The functions run on the store's loop and must not keep references to
/// their arguments. The order for a write of the object itself, with admission's two phases:
///     create  set_defaults, admit, prepare_for_create, set_defaults, validate, warn, admission's validate, begin_write
///     update  set_defaults, prepare_for_update, admit, set_defaults, validate_update, warn, admission's validate, begin_write
/// set_defaults must be safe to repeat. An update is checked by `validate` if validate_update is empty.
struct Strategy {
    std::string_view group, kind;
    names::NameRule name_rule = names::NameRule::Subdomain;
    Generation generation = Generation::None;
    bool create_on_update = false;      ///< PUT of a missing name creates it
    bool unconditional_update = true;   ///< PUT may leave metadata.resourceVersion out
    bool keeps_created_status = false;  ///< status sent with a create is stored
    bool orphans_by_default = false;    ///< DELETE without a policy leaves dependents alone
    Duration time_to_live{};            ///< after the last write; 0: never removed by age
    /// The namespace of those that are updated periodically and whose writer can wait (store::Transaction::patient); "" for none.
    std::string_view heartbeat_namespace = "";
    std::string_view deprecation = "";  ///< a warning that every answer about the kind carries
    /// In addition to metadata.name and metadata.namespace.
    std::vector<SelectableField> selectable_fields;
    /// The field by which watchers are indexed; "" for none.
    std::string_view topic_field;

    std::function<void(ApiObject&)> set_defaults;
    std::function<void(ApiObject&, const WriteContext&)> prepare_for_create;
    /// Called after status and system metadata have been copied from `old`. Not for /status, /approval and /finalize.
    std::function<void(ApiObject&, const ApiObject& old, const WriteContext&)> prepare_for_update;
    /// For /status and /approval.
    std::function<void(ApiObject&, const ApiObject& old, const WriteContext&)> prepare_for_status_update;
    std::function<void(const ApiObject&, FieldErrors&)> validate;
    std::function<void(const ApiObject&, const ApiObject& old, FieldErrors&)> validate_update;
    std::function<void(const ApiObject&, const ApiObject& old, const WriteContext&, FieldErrors&)> validate_status_update;
    std::function<void(const ApiObject&, const ApiObject* old, std::vector<std::string>&)> warn;
    /// By name; status needs no entry, see prepare_for_status_update.
    std::map<std::string, SubresourceStrategy, std::less<>> subresources;

    /// How many seconds a deletion waits for the node, given the requested number; empty for kinds that are removed immediately.
    std::function<std::int64_t(const ApiObject&, std::optional<std::int64_t> requested)> grace_period;
    /// Whether more than metadata.finalizers delays the object's removal.
    std::function<bool(const ApiObject&)> delays_removal;
    /// Marks an object whose deletion has begun but that stays for now.
    std::function<void(ApiObject&)> begin_deletion;
    /// Reserves and releases what belongs to the object; `object` is null for a deletion, `old` for a creation. May change the object.
    /// Called again after a conflict of the commit.
    std::function<Result<void>(ApiObject* object, const ApiObject* old, TransactionDraft&, FieldErrors&)> begin_write;
};

/// The functions of a Strategy written on the kind's struct.
template <class T>
struct TypedStrategy {
    void (*set_defaults)(T&) = nullptr;
    void (*prepare_for_create)(T&, const WriteContext&) = nullptr;
    void (*prepare_for_update)(T&, const T& old, const WriteContext&) = nullptr;
    void (*prepare_for_status_update)(T&, const T& old, const WriteContext&) = nullptr;
    void (*validate)(const T&, FieldErrors&) = nullptr;
    void (*validate_update)(const T&, const T& old, FieldErrors&) = nullptr;
    void (*validate_status_update)(const T&, const T& old, FieldErrors&) = nullptr;
    void (*warn)(const T&, const T* old, std::vector<std::string>&) = nullptr;
};

/// The strategy of T's kind; `typed` replaces the untyped functions.
template <class T>
Strategy strategy_for(TypedStrategy<T> typed = {}) {
    Strategy strategy{.group = T::kind().group, .kind = T::kind().kind};
    if (typed.set_defaults) strategy.set_defaults = [f = typed.set_defaults](ApiObject& object) { f(object.edit<T>()); };
    const auto prepare = [](auto f) {
        return [f](ApiObject& object, const ApiObject& old, const WriteContext& context) { f(object.edit<T>(), old.view<T>(), context); };
    };
    const auto compare = [](auto f) {
        return [f](const ApiObject& object, const ApiObject& old, FieldErrors& errors) { f(object.view<T>(), old.view<T>(), errors); };
    };
    if (typed.prepare_for_create) {
        strategy.prepare_for_create = [f = typed.prepare_for_create](ApiObject& object, const WriteContext& context) {
            f(object.edit<T>(), context);
        };
    }
    if (typed.prepare_for_update) strategy.prepare_for_update = prepare(typed.prepare_for_update);
    if (typed.prepare_for_status_update) strategy.prepare_for_status_update = prepare(typed.prepare_for_status_update);
    if (typed.validate) {
        strategy.validate = [f = typed.validate](const ApiObject& object, FieldErrors& errors) { f(object.view<T>(), errors); };
    }
    if (typed.validate_update) strategy.validate_update = compare(typed.validate_update);
    if (typed.validate_status_update) {
        strategy.validate_status_update = [f = typed.validate_status_update](const ApiObject& object, const ApiObject& old,
                                                                             const WriteContext&, FieldErrors& errors) {
            f(object.view<T>(), old.view<T>(), errors);
        };
    }
    if (typed.warn) {
        strategy.warn = [f = typed.warn](const ApiObject& object, const ApiObject* old, std::vector<std::string>& warnings) {
            f(object.view<T>(), old ? &old->view<T>() : nullptr, warnings);
        };
    }
    return strategy;
}

}  // namespace porthole::apiserver
