#include "schema/patch/field_set.h"

#include <utility>

#include "schema/json/json.h"

namespace porthole::schema {

const FieldSet* FieldSet::find(std::string_view step) const {
    const auto found = children_.find(std::string(step));
    return found == children_.end() ? nullptr : &found->second;
}

void FieldSet::trim() {
    for (auto& [step, child] : children_) child.trim();
    std::erase_if(children_, [](const auto& entry) { return entry.second.empty(); });
}

void FieldSet::add(FieldSet other) {
    if (empty()) {
        *this = std::move(other);
        return;
    }
    member_ = member_ || other.member_;
    for (auto& [step, child] : other.children_) children_[step].add(std::move(child));
}

template <class Visit>
void FieldSet::visit_common(const FieldSet& other, Visit visit) {
    // Many managers' few fields are compared with one change's many, so the smaller set is gone through.
    if (children_.size() < other.children_.size()) {
        for (auto ours = children_.begin(); ours != children_.end();) {
            const auto theirs = other.children_.find(ours->first);
            if (theirs != other.children_.end()) visit(ours->second, theirs->second);
            ours = ours->second.empty() && theirs != other.children_.end() ? children_.erase(ours) : std::next(ours);
        }
        return;
    }
    for (const auto& [step, child] : other.children_) {
        const auto ours = children_.find(step);
        if (ours == children_.end()) continue;
        visit(ours->second, child);
        if (ours->second.empty()) children_.erase(ours);
    }
}

void FieldSet::remove(const FieldSet& other) {
    if (other.member_) member_ = false;
    visit_common(other, [](FieldSet& ours, const FieldSet& theirs) { ours.remove(theirs); });
}

void FieldSet::remove_recursively(const FieldSet& other) {
    visit_common(other, [](FieldSet& ours, const FieldSet& theirs) {
        if (theirs.member_) ours = FieldSet();
        ours.remove_recursively(theirs);
    });
}

void FieldSet::keep_common(const FieldSet& other) {
    member_ = member_ && other.member_;
    for (auto& [step, child] : children_) {
        const FieldSet* theirs = other.find(step);
        if (theirs)
            child.keep_common(*theirs);
        else
            child = FieldSet();
    }
    std::erase_if(children_, [](const auto& entry) { return entry.second.empty(); });
}

namespace {

void visit_below(const FieldSet& set, std::vector<std::string>& steps,
                 const std::function<void(const std::vector<std::string>&)>& visitor) {
    for (const auto& [step, child] : set.children()) {
        steps.push_back(step);
        if (child.is_member()) visitor(steps);
        visit_below(child, steps, visitor);
        steps.pop_back();
    }
}

}  // namespace

void FieldSet::visit(const std::function<void(const std::vector<std::string>&)>& visitor) const {
    std::vector<std::string> steps;
    visit_below(*this, steps, visitor);
}

Value FieldSet::to_value() const { return to_value(false); }

Value FieldSet::to_value(bool with_self) const {
    Object object;
    object.reserve(children_.size() + (with_self ? 1 : 0));
    if (with_self) object.append(".", Value::object());
    for (const auto& [step, child] : children_) object.append(step, child.to_value(child.member_ && !child.children_.empty()));
    return object;
}

void FieldSet::append_json(std::string& out) const { append_json(out, false); }

void FieldSet::append_json(std::string& out, bool with_self) const {
    out += with_self ? "{\".\":{}" : "{";
    bool is_first = !with_self;
    for (const auto& [step, child] : children_) {
        if (!std::exchange(is_first, false)) out += ',';
        append_json_string(step, out);
        out += ':';
        child.append_json(out, child.member_ && !child.children_.empty());
    }
    out += '}';
}

Result<FieldSet> FieldSet::from_value(const Value& fields) {
    TRY(FieldSet set, subset_from_value(fields));
    set.member_ = false;  // "." of the root names no field; Kubernetes ignores it, too
    return set;
}

Result<FieldSet> FieldSet::subset_from_value(const Value& fields) {
    FieldSet set;
    if (!fields.is_object()) return Error(Reason::BadRequest, "fieldsV1 must be an object");
    for (const Member& member : fields.as_object()) {
        if (member.key == ".") {
            set.member_ = true;
            continue;
        }
        const std::string_view step = member.key;
        if (step.size() < 2 || step[1] != ':' || std::string_view("fkvi").find(step[0]) == std::string_view::npos) {
            return Error(Reason::BadRequest, "fieldsV1 has an unknown path element " + member.key);
        }
        TRY(FieldSet child, subset_from_value(member.value));
        if (child.empty()) child.member_ = true;
        set.children_[member.key] = std::move(child);
    }
    return set;
}

std::string format_field_path(const std::vector<std::string>& steps) {
    std::string path;
    for (const std::string& step : steps) {
        const std::string rest = step.substr(2);
        if (step[0] == 'f')
            path += "." + rest;
        else if (step[0] == 'v')
            path += "[=" + rest + "]";
        else if (step[0] == 'i')
            path += "[" + rest + "]";
        else {
            std::string keys;
            const auto parsed = parse_json(rest);
            if (parsed && parsed->is_object()) {
                for (const Member& key : parsed->as_object()) {
                    if (!keys.empty()) keys += ',';
                    keys += key.key + "=" + to_json(key.value);
                }
            }
            path += "[" + keys + "]";
        }
    }
    return path;
}

}  // namespace porthole::schema
