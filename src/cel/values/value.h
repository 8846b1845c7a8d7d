#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cel/values/type.h"
#include "cel/values/work.h"
#include "schema/value.h"

namespace porthole::cel {

/// Reference-counted data that a Value refers to. Immutable once shared.
class Shared {
public:
    virtual ~Shared() = default;

private:
    friend class SharedRef;
    mutable std::atomic<std::uint32_t> references_{0};
};

/// A counted reference to a Shared, or none.
class SharedRef {
public:
    SharedRef() = default;
    explicit SharedRef(const Shared* shared) : shared_(shared) { acquire(); }
    SharedRef(const SharedRef& other) : shared_(other.shared_) { acquire(); }
    SharedRef(SharedRef&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
    SharedRef& operator=(SharedRef other) noexcept {
        std::swap(shared_, other.shared_);
        return *this;
    }
    ~SharedRef() { release(); }

    const Shared* get() const { return shared_; }
    bool is_unique() const { return shared_ && shared_->references_.load(std::memory_order_acquire) == 1; }

private:
    void acquire() const {
        if (shared_) shared_->references_.fetch_add(1, std::memory_order_relaxed);
    }
    void release() const {
        if (shared_ && shared_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete shared_;
    }
    const Shared* shared_ = nullptr;
};

/// A point in time: seconds since 1970 (year 1 to 9999) and nanoseconds within the second.
struct Moment {
    std::int64_t seconds = 0;
    std::int32_t nanos = 0;
    auto operator<=>(const Moment&) const = default;
    std::string to_string() const;  ///< RFC 3339, with as many digits of fraction as it needs
    /// RFC 3339. nullopt: not one, or outside of year 1 to 9999.
    static std::optional<Moment> parse(std::string_view text);
    bool in_range() const;
};

class Value;

/// A value of a type that a library or the caller adds: an IP address, a quantity, an authorizer.
class Opaque : public Shared {
public:
    virtual TypeRef type() const = 0;
    virtual bool equals(const Opaque& other) const = 0;
    /// For size in costs; nullopt if the value has none.
    virtual std::optional<std::uint64_t> size() const { return {}; }
    /// For string() and messages; "" if there is no text.
    virtual std::string text() const { return {}; }
};

enum class Kind : std::uint8_t {
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    List,
    Map,
    Object,  ///< constructed by an expression: `Object.spec{replicas: 1}`
    Type,
    Optional,
    Opaque,
    Error
};

struct Composite;
struct ListData;
struct MapData;
struct ObjectData;

/// Fields of an object that are computed on access, for policies' `variables`. Outlives the values that refer to it.
class LazyFields {
public:
    virtual ~LazyFields() = default;
    virtual const TypeRef& type() const = 0;
    /// nullopt if there is none.
    virtual std::optional<Value> field(std::string_view name) const = 0;
};

/// A value of the language.
///
/// A list or map may be a view of a schema::Value, which is read on access; the tree, and the types given with it, must outlive the view.
/// Copying is cheap. Const operations are thread-safe.
class Value {
public:
    using Entry = std::pair<Value, Value>;

    Value() = default;  ///< null
    static Value boolean(bool value);
    static Value integer(std::int64_t value);
    static Value unsigned_integer(std::uint64_t value);
    static Value real(double value);
    static Value string(std::string value);
    static Value bytes(std::string value);
    /// The text must outlive the value.
    static Value string_view(std::string_view text);
    static Value moment(Moment moment);
    static Value duration(std::int64_t nanos);
    static Value list(std::vector<Value> items);
    /// Of keys that are equal the last counts.
    static Value map(std::vector<Entry> entries, Work& work);
    static Value map(std::vector<Entry> entries);
    /// Reading an absent key returns `missing`; `in` still reports it as absent.
    static Value map_with_default(std::vector<Entry> entries, Value missing);
    static Value object(TypeRef type, std::vector<std::pair<std::string, Value>> fields);
    /// An object that does not reveal its fields: it has none to count, equals only itself, and has no JSON. It is never traversed, since a
    /// field may be the object itself.
    static Value lazy_object(const LazyFields& fields);
    static Value type(TypeRef type);
    static Value some(Value value);  ///< optional.of
    static Value none();             ///< optional.none
    static Value opaque(const Opaque* value);
    static Value error(std::string message);
    static Value no_such_overload() { return error("no such overload"); }
    /// A view of `tree` by the declared type (nullptr or dyn: by JSON): a string of format date-time is a timestamp, and an integer in a
    /// field of type number is a double. An error if the tree does not conform.
    static Value of(const schema::Value& tree, const Type* type = nullptr);

    Kind kind() const { return kind_; }
    bool is(Kind kind) const { return kind_ == kind; }
    bool is_error() const { return kind_ == Kind::Error; }
    bool is_true() const { return kind_ == Kind::Bool && data_.boolean; }
    bool is_numeric() const { return kind_ == Kind::Int || kind_ == Kind::Uint || kind_ == Kind::Double; }

    // Require the kind.
    bool as_bool() const { return data_.boolean; }
    std::int64_t as_int() const { return data_.integer; }
    std::uint64_t as_uint() const { return data_.natural; }
    double as_double() const { return data_.real; }
    std::string_view as_text() const { return {data_.text, extra_.size}; }  ///< of a string, bytes or error
    Moment as_moment() const { return {data_.integer, static_cast<std::int32_t>(extra_.nanos)}; }
    std::int64_t as_nanos() const { return data_.integer; }  ///< of a duration
    TypeRef as_type() const;
    const Opaque& as_opaque() const;
    template <class T>
    const T* as_opaque_of() const {
        return kind_ == Kind::Opaque ? dynamic_cast<const T*>(owner_.get()) : nullptr;
    }
    bool has_value() const;        ///< of an optional
    const Value& content() const;  ///< of an optional that has a value

    /// Items of a list, entries of a map, fields of an object.
    std::size_t count() const;
    Value item(std::size_t index) const;                            ///< of a list; index < count()
    Entry entry(std::size_t index) const;                           ///< of a map or object
    std::optional<Value> find(const Value& key, Work& work) const;  ///< in a map: 1, 1u and 1.0 are one key
    std::optional<Value> find(std::string_view key) const;          ///< in a map or object
    bool contains(const Value& key, Work& work) const;
    /// The nesting of lists, maps, objects and optionals created by expressions: 0 for other values, including views.
    std::uint32_t depth() const;

    /// The run-time type, as `type(x)` yields it.
    TypeRef type() const;
    /// The result of size() for a string, bytes, list or map, or an opaque value's own size; nullopt for others.
    std::optional<std::uint64_t> size() const;
    /// Like equality of the language: numbers by amount, everything else only within its kind.
    bool equals(const Value& other, Work& work) const;
    bool equals(const Value& other) const;
    /// -1, 0, 1; nullopt if they cannot be ordered (NaN, kinds that differ).
    std::optional<int> compare(const Value& other) const;
    /// Equal values have equal hashes, which differ between processes.
    std::size_t hash(Work& work) const;

    /// As JSON: durations as "1.5s", bytes in base64, an absent optional as null. nullopt for types and opaque values, and for trees larger
    /// than LargestTree.
    std::optional<schema::Value> to_tree() const;
    /// For messages and tests, in the language's own notation. The text of a list or map ends with "..." where it is longer than
    /// LongestText.
    std::string to_string() const;
    static constexpr std::size_t LargestTree = std::size_t{64} << 20, LongestText = std::size_t{16} << 10;
    /// Counts every part as often as it occurs, including those of views, as created bytes. False if that is too much to traverse.
    bool count_parts(Work& work) const;

    /// The list, changed in place if it is not shared. Requires: two lists.
    static Value append(Value list, const Value& more, Work& work);
    /// The map with one more entry, changed in place if it is not shared. An error if the key exists.
    static Value insert(Value map, Value key, Value value, Work& work);

private:
    union Data {
        bool boolean;
        std::int64_t integer = 0;
        std::uint64_t natural;
        double real;
        const char* text;
        const schema::Value* tree;
        const LazyFields* lazy;
    };
    union Extra {
        std::size_t size = 0;
        std::int64_t nanos;
        const Type* type;
    };
    const ListData& list_data() const;
    const MapData& map_data() const;
    const ObjectData& object_data() const;
    static Value owned_text(Kind kind, std::string text);
    static Value view(Kind kind, const schema::Value& tree, const Type* type);
    /// The schema's type of a list; nullptr if there is none.
    const Type* list_type() const;
    bool lists_equal(const Value& other, Work& work) const;
    bool maps_equal(const Value& other, Work& work) const;
    std::optional<schema::Value> to_tree(Work& work) const;
    /// Appends the text of to_string(), until `text` is too long.
    void write(std::string& text) const;

    Kind kind_ = Kind::Null;
    bool is_view_ = false;  ///< of a tree
    bool is_lazy_ = false;
    Data data_;
    Extra extra_;
    SharedRef owner_;
};

/// Finds the positions of values by hash: 1, 1u and 1.0 are the same value. Const operations are thread-safe.
class ValueIndex {
public:
    bool empty() const { return places_.empty(); }
    /// Replaces the position of an equal value.
    void put(const Value& value, std::size_t place, Work& work);
    /// nullptr if there is none.
    const std::size_t* find(const Value& value, Work& work) const;

private:
    struct Entry {
        Value value;
        std::size_t place;
    };
    // By hash, so that comparing values with equal hashes counts as work.
    std::unordered_multimap<std::size_t, Entry> places_;
};

/// The text of a number as the language's string() writes it: "1e+06", "0.1".
std::string double_text(double number);
/// The number of code points.
std::uint64_t code_points(std::string_view text);

}  // namespace porthole::cel
