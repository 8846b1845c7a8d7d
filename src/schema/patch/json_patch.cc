#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "schema/json/json.h"
#include "schema/patch/patch.h"
#include "schema/value.h"

namespace porthole::schema {
namespace {

constexpr const char* FailedTest = " failed: test failed";

/// A JSON pointer (RFC 6901): the keys and indices on the way.
using Pointer = std::vector<std::string>;

/// Error: Invalid.
Result<Pointer> parse_pointer(std::string_view text) {
    Pointer pointer;
    if (text.empty()) return pointer;
    if (text[0] != '/') return Error(Reason::Invalid, "invalid path \"" + std::string(text) + "\": it must start with \"/\"");
    for (std::size_t i = 0; i < text.size();) {
        if (pointer.size() == MaxTreeDepth)
            return Error(Reason::Invalid, "invalid path: it has more than " + std::to_string(MaxTreeDepth) + " steps");
        const std::size_t end = std::min(text.find('/', i + 1), text.size());
        std::string step;
        for (std::size_t j = i + 1; j < end; ++j) {
            if (text[j] == '~' && j + 1 < end && (text[j + 1] == '0' || text[j + 1] == '1'))
                step += text[++j] == '0' ? '~' : '/';
            else
                step += text[j];
        }
        pointer.push_back(std::move(step));
        i = end;
    }
    return pointer;
}

/// The index an array's step means: below `limit`, no leading zero; SIZE_MAX for anything else.
std::size_t parse_index(std::string_view step, std::size_t limit) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
    if (error != std::errc() || end != step.data() + step.size() || (step.size() > 1 && step[0] == '0')) return SIZE_MAX;
    return index < limit ? index : SIZE_MAX;
}

/// The value that `pointer` names; nullptr where a step is missing.
Value* find_at(Value& root, const Pointer& pointer) {
    Value* value = &root;
    for (const std::string& step : pointer) {
        if (value->is_array()) {
            const std::size_t index = parse_index(step, value->as_array().size());
            value = index == SIZE_MAX ? nullptr : &value->as_array()[index];
        } else {
            value = value->find(step);
        }
        if (!value) return nullptr;
    }
    return value;
}

static_assert(JsonLimits().depth == MaxTreeDepth);

constexpr std::size_t MaxOperations = 10'000;
// What all copy operations of one patch may add up to: a short patch must not make a huge object.
constexpr std::size_t MaxCopiedBytes = 3u << 20;
// What all operations of one patch may move in lists and look at: about a twentieth of a second.
constexpr std::size_t MaxWork = 8'000'000;

class JsonPatch {
public:
    explicit JsonPatch(Value& document) : document_(document) {}

    Result<void> apply(const Value& operation) {
        const std::string_view op = operation.string_at({"op"});
        const Value* path = operation.find("path");
        if (!path || !path->is_string()) return failure(op, "it has no path");
        TRY(pointer_, parse_pointer(path->as_string()));
        path_ = path->as_string();

        if (op == "add") return with_value(operation, &JsonPatch::add);
        if (op == "replace") return with_value(operation, &JsonPatch::replace);
        if (op == "test") return with_value(operation, &JsonPatch::test);
        if (op == "remove") return remove();
        if (op == "move" || op == "copy") return transfer(operation, op);
        return Error(Reason::Invalid, "Unexpected kind: " + std::string(op));
    }

private:
    static Error failure(std::string_view op, const std::string& why) {
        return Error(Reason::Invalid, std::string(op) + " operation does not apply: " + why);
    }
    Error missing(std::string_view op) const { return failure(op, "doc is missing path: \"" + path_ + "\": missing value"); }

    static Error too_deep(std::string_view op) { return failure(op, "the result is nested too deeply"); }

    Result<void> with_value(const Value& operation, Result<void> (JsonPatch::*apply)(Value)) {
        const Value* value = operation.find("value");
        // Go cannot tell a missing value from null.
        return (this->*apply)(value ? *value : Value());
    }

    Value* parent() { return find_at(document_, Pointer(pointer_.begin(), pointer_.end() - 1)); }

    /// Whether `value` may stand at the pointer. Checked operation by operation: copies into themselves double the depth, and what
    /// copies, prints and destroys a tree calls itself at every level.
    Result<void> check_fits(std::string_view op, const Value& value) {
        if (pointer_.size() + depth_of(value, &work_) > MaxTreeDepth) return too_deep(op);
        return check_work(op);
    }

    Result<void> check_work(std::string_view op) const {
        if (work_ > MaxWork) return failure(op, "the patch asks for too much work");
        return {};
    }

    Result<void> add(Value value) {
        TRY_VOID(check_fits("add", value));
        if (pointer_.empty()) {
            document_ = std::move(value);
            return {};
        }
        Value* holder = parent();
        if (!holder) return missing("add");
        const std::string& last = pointer_.back();
        if (holder->is_object()) {
            (*holder)[last] = std::move(value);
            return {};
        }
        if (!holder->is_array()) return missing("add");
        Array& array = holder->as_array();
        const std::size_t index = last == "-" ? array.size() : parse_index(last, array.size() + 1);
        if (index == SIZE_MAX) return failure("add", "Unable to access invalid index: " + last);
        work_ += array.size() - index;
        TRY_VOID(check_work("add"));
        array.insert(array.begin() + static_cast<std::ptrdiff_t>(index), std::move(value));
        return {};
    }

    /// As upstream's library, and unlike RFC 6902, makes a member that an object does not have: clients count on it.
    Result<void> replace(Value value) {
        TRY_VOID(check_fits("replace", value));
        if (Value* holder = pointer_.empty() ? nullptr : parent(); holder && holder->is_object()) {
            (*holder)[pointer_.back()] = std::move(value);
            return {};
        }
        Value* target = find_at(document_, pointer_);
        if (!target) return missing("replace");
        *target = std::move(value);
        return {};
    }

    Result<void> test(Value value) {
        TRY_VOID(check_fits("test", value));
        const Value* target = find_at(document_, pointer_);
        if (target ? *target == value : value.is_null()) return {};
        return Error(Reason::Invalid, "testing value " + path_ + FailedTest);
    }

    Result<void> remove() {
        Value* holder = pointer_.empty() ? nullptr : parent();
        if (!holder) return missing("remove");
        const std::string& last = pointer_.back();
        if (holder->is_object()) {
            if (!holder->erase(last)) return failure("remove", "Unable to remove nonexistent key: " + last + ": missing value");
            return {};
        }
        const std::size_t index = holder->is_array() ? parse_index(last, holder->as_array().size()) : SIZE_MAX;
        if (index == SIZE_MAX) return failure("remove", "Unable to access invalid index: " + last);
        work_ += holder->as_array().size() - index;
        TRY_VOID(check_work("remove"));
        holder->as_array().erase(holder->as_array().begin() + static_cast<std::ptrdiff_t>(index));
        return {};
    }

    Result<void> transfer(const Value& operation, std::string_view op) {
        TRY(Pointer from, parse_pointer(operation.string_at({"from"})));
        Value* source = find_at(document_, from);
        if (!source) return failure(op, "doc is missing from path: " + std::string(operation.string_at({"from"})));
        const bool into_itself = from.size() < pointer_.size() && std::equal(from.begin(), from.end(), pointer_.begin());
        if (op == "move" && into_itself) return failure(op, "a value cannot be moved into itself");
        if (op == "copy") {
            copied_ += to_json(*source).size();
            if (copied_ > MaxCopiedBytes) return failure(op, "Unable to complete the copy, the accumulated size of copies is too large");
            return add(Value(*source));
        }
        Value value = std::move(*source);
        std::swap(pointer_, from);
        TRY_VOID(remove());
        std::swap(pointer_, from);
        return add(std::move(value));
    }

    Value& document_;
    Pointer pointer_;
    std::string path_;
    std::size_t copied_ = 0;
    std::size_t work_ = 0;  ///< values moved and looked at
};

}  // namespace

bool is_failed_test(const Error& error) { return error.reason == Reason::Invalid && error.message.ends_with(FailedTest); }

Result<Value> apply_json_patch(const Value& current, const Value& patch) {
    if (!patch.is_array()) {
        return Error(Reason::BadRequest, std::string("error decoding patch: json: cannot unmarshal ") + patch.type_name() +
                                             " into Go value of type jsonpatch.Patch");
    }
    if (patch.as_array().size() > MaxOperations) {
        return Error(Reason::RequestEntityTooLarge, "The allowed maximum operations in a JSON patch is " + std::to_string(MaxOperations) +
                                                        ", got " + std::to_string(patch.as_array().size()));
    }
    Value result = current;
    JsonPatch document(result);
    for (const Value& operation : patch.as_array()) {
        if (!operation.is_object()) return Error(Reason::BadRequest, "error decoding patch: an operation is not an object");
        Result<void> applied = document.apply(operation);
        if (!applied) {
            return std::move(applied).error().with_context("the server rejected our request due to an error in our request");
        }
    }
    return result;
}

}  // namespace porthole::schema
