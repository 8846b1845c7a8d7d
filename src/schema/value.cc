#include "schema/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

namespace porthole::schema {

/// A hash table of positions in `members_`, open addressing; twice as many slots as members.
struct Object::Index {
    static constexpr std::uint32_t Free = UINT32_MAX;
    std::vector<std::uint32_t> slots;

    static std::size_t hash(std::string_view key) { return std::hash<std::string_view>()(key); }

    void add(std::string_view key, std::uint32_t position) {
        std::size_t slot = hash(key) & (slots.size() - 1);
        while (slots[slot] != Free) slot = (slot + 1) & (slots.size() - 1);
        slots[slot] = position;
    }

    std::ptrdiff_t find(std::string_view key, const std::vector<Member>& members) const {
        for (std::size_t slot = hash(key) & (slots.size() - 1); slots[slot] != Free; slot = (slot + 1) & (slots.size() - 1))
            if (members[slots[slot]].key == key) return slots[slot];
        return -1;
    }

    std::size_t slot_of(std::string_view key, std::uint32_t position) const {
        std::size_t slot = hash(key) & (slots.size() - 1);
        while (slots[slot] != position) slot = (slot + 1) & (slots.size() - 1);
        return slot;
    }

    /// Frees a slot and moves up what had to pass it, so that searches still end at free slots.
    void free(std::size_t slot, const std::vector<Member>& members) {
        const std::size_t mask = slots.size() - 1;
        slots[slot] = Free;
        for (std::size_t next = (slot + 1) & mask; slots[next] != Free; next = (next + 1) & mask) {
            const std::size_t home = hash(members[slots[next]].key) & mask;
            if (((next - home) & mask) < ((next - slot) & mask)) continue;
            slots[slot] = std::exchange(slots[next], Free);
            slot = next;
        }
    }
};

namespace {
constexpr std::size_t IndexedSize = 32;
}

Object::Object() = default;
Object::Object(std::initializer_list<Member> members) {
    for (const Member& member : members) (*this)[member.key] = member.value;
}
Object::Object(const Object& other) : members_(other.members_) { reindex(); }
Object::Object(Object&& other) noexcept = default;
Object& Object::operator=(Object other) noexcept {
    members_ = std::move(other.members_);
    index_ = std::move(other.index_);
    return *this;
}
Object::~Object() = default;

std::size_t Object::size() const { return members_.size(); }
Member* Object::begin() { return members_.data(); }
Member* Object::end() { return members_.data() + members_.size(); }
const Member* Object::begin() const { return members_.data(); }
const Member* Object::end() const { return members_.data() + members_.size(); }

void Object::reindex() {
    index_.reset();
    if (members_.size() < IndexedSize) return;
    index_ = std::make_unique<Index>();
    std::size_t slots = 2 * IndexedSize;
    while (slots < members_.size() * 2) slots *= 2;
    index_->slots.assign(slots, Index::Free);
    for (std::size_t i = 0; i < members_.size(); ++i) index_->add(members_[i].key, static_cast<std::uint32_t>(i));
}

std::ptrdiff_t Object::position(std::string_view key) const {
    if (index_) return index_->find(key, members_);
    for (std::size_t i = 0; i < members_.size(); ++i)
        if (members_[i].key == key) return static_cast<std::ptrdiff_t>(i);
    return -1;
}

const Value* Object::find(std::string_view key) const {
    const std::ptrdiff_t at = position(key);
    return at < 0 ? nullptr : &members_[static_cast<std::size_t>(at)].value;
}

Value* Object::find(std::string_view key) {
    const std::ptrdiff_t at = position(key);
    return at < 0 ? nullptr : &members_[static_cast<std::size_t>(at)].value;
}

Value& Object::operator[](std::string_view key) {
    if (Value* found = find(key)) return *found;
    return append(std::string(key), Value());
}

Value& Object::append(std::string key, Value value) {
    if (members_.capacity() == 0) members_.reserve(4);  // few objects have fewer, and growing moves them all
    members_.emplace_back(std::move(key), std::move(value));
    if (index_ && index_->slots.size() >= members_.size() * 2) {
        index_->add(members_.back().key, static_cast<std::uint32_t>(members_.size() - 1));
    } else if (members_.size() >= IndexedSize) {
        reindex();
    }
    return members_.back().value;
}

bool Object::erase(std::string_view key) {
    const std::ptrdiff_t at = position(key);
    if (at < 0) return false;
    if (!index_) {
        members_.erase(members_.begin() + at);
        return true;
    }
    const auto position = static_cast<std::uint32_t>(at), last = static_cast<std::uint32_t>(members_.size() - 1);
    index_->free(index_->slot_of(key, position), members_);
    if (position != last) {
        index_->slots[index_->slot_of(members_[last].key, last)] = position;
        members_[position] = std::move(members_[last]);
    }
    members_.pop_back();
    return true;
}

void Object::clear() {
    members_.clear();
    index_.reset();
}

void Object::reserve(std::size_t count) { members_.reserve(count); }

void Object::sort_keys() {
    std::sort(members_.begin(), members_.end(), [](const Member& a, const Member& b) { return a.key < b.key; });
    reindex();
}

bool Object::operator==(const Object& other) const {
    if (size() != other.size()) return false;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const Member& member = members_[i];
        const bool aligned = other.members_[i].key == member.key;  // usually the same order
        const Value* twin = aligned ? &other.members_[i].value : other.find(member.key);
        if (!twin || !(member.value == *twin)) return false;
    }
    return true;
}

Value Value::array(std::initializer_list<Value> items) { return Value(Array(items)); }
Value Value::object(std::initializer_list<Member> members) { return Value(Object(members)); }

const char* Value::type_name() const {
    static constexpr const char* names[] = {"null", "bool", "number", "number", "string", "array", "object"};
    return names[data_.index()];
}

Value& Value::operator[](std::string_view key) {
    if (is_null()) data_ = Object();
    return as_object()[key];
}

const Value* Value::at_path(std::initializer_list<std::string_view> path) const {
    const Value* here = this;
    for (const std::string_view step : path) {
        here = here->find(step);
        if (!here) return nullptr;
    }
    return here;
}

Value* Value::at_path(std::initializer_list<std::string_view> path) { return const_cast<Value*>(std::as_const(*this).at_path(path)); }

Value& Value::ensure_path(std::initializer_list<std::string_view> path) {
    Value* here = this;
    for (const std::string_view step : path) here = &(*here)[step];
    return *here;
}

std::string_view Value::string_at(std::initializer_list<std::string_view> path) const {
    const Value* found = at_path(path);
    return found ? found->string_or("") : std::string_view();
}

bool Value::operator==(const Value& other) const {
    if (is_number() && other.is_number() && data_.index() != other.data_.index()) return as_double() == other.as_double();
    return data_ == other.data_;
}

std::size_t depth_of(const Value& value, std::size_t* visited) {
    if (visited) ++*visited;
    std::size_t deepest = 0;
    if (value.is_array()) {
        for (const Value& item : value.as_array()) deepest = std::max(deepest, depth_of(item, visited));
        return deepest + 1;
    }
    if (!value.is_object()) return 0;
    for (const Member& member : value.as_object()) deepest = std::max(deepest, depth_of(member.value, visited));
    return deepest + 1;
}

const Value& null_value() {
    static const Value null;
    return null;
}

namespace {

/// As Go and JavaScript write it: plain digits in the usual range, an exponent beyond. JSON has no infinity.
void append_double(double number, std::string& out) {
    if (!std::isfinite(number)) {
        out += "null";
        return;
    }
    const double size = std::fabs(number);
    const bool plain = size == 0 || (size >= 1e-6 && size < 1e21);
    char text[64];
    const auto [end, error] =
        std::to_chars(text, text + sizeof text, number, plain ? std::chars_format::fixed : std::chars_format::scientific);
    out.append(text, end);
}

}  // namespace

void append_integer(std::int64_t number, std::string& out) {
    char text[32];
    const auto [end, error] = std::to_chars(text, text + sizeof text, number);
    out.append(text, end);
}

void append_number(const Value& number, std::string& out) {
    if (number.is_int())
        append_integer(number.as_int(), out);
    else
        append_double(number.as_double(), out);
}

}  // namespace porthole::schema
