#include "fleet/stage_template.h"

#include <map>

#include "fleet/stage_template_nodes.h"
#include "schema/json/json.h"

namespace porthole::fleet {
namespace {

using schema::Value;
using Kind = TemplateCommand::Kind;
using Node = TemplateNode;

constexpr std::size_t LongestResult = 1u << 20, MostSteps = 1'000'000;

bool is_true(const Value& value) {
    if (value.is_bool()) return value.as_bool();
    if (value.is_string()) return !value.as_string().empty();
    if (value.is_array()) return !value.as_array().empty();
    if (value.is_object()) return !value.as_object().empty();
    return value.is_number() && value.as_double() != 0;
}

std::string printed(const Value& value) {
    if (value.is_null()) return "<no value>";
    return value.is_string() ? value.as_string() : schema::to_json(value);
}

/// A JSON string: of the string itself, or of the JSON of anything else.
std::string quoted(const Value& value) {
    std::string out;
    schema::append_json_string(value.is_string() ? value.as_string() : schema::to_json(value), out);
    return out;
}

const Value& below(const Value& value, const std::vector<std::string>& path) {
    const Value* found = &value;
    for (const std::string& name : path) found = &schema::at(*found, name);
    return *found;
}

Error wrong(const std::string& what) { return Error(Reason::BadRequest, "template: " + what); }

class Rendering {
public:
    Rendering(const Value& object, const TemplateFunctions& functions) : functions_(functions) { variables_["$"] = object; }

    Result<void> run(const TemplateNodes& nodes, const Value& dot) {
        for (const Node& node : nodes) {
            if (++steps_ > MostSteps || out_.size() > LongestResult) return wrong("the result is too long");
            TRY_VOID(run(node, dot));
        }
        return {};
    }
    std::string take() { return std::move(out_); }

private:
    Result<void> run(const Node& node, const Value& dot) {
        if (node.kind == Node::Kind::Text) {
            out_ += node.text;
            return {};
        }
        TRY(const Value value, evaluate(node.pipeline, dot));
        switch (node.kind) {
            case Node::Kind::Output:
                out_ += printed(value);
                return {};
            case Node::Kind::Assign:
                variables_[node.variables.front()] = value;
                return {};
            case Node::Kind::If:
                return run(is_true(value) ? node.body : node.otherwise, dot);
            case Node::Kind::With:
                if (!is_true(value)) return run(node.otherwise, dot);
                if (!node.variables.empty()) variables_[node.variables.front()] = value;
                return run(node.body, value);
            default:
                return range(node, value, dot);
        }
    }

    Result<void> range(const Node& node, const Value& value, const Value& dot) {
        if (!is_true(value)) return run(node.otherwise, dot);
        if (!value.is_array()) return wrong("range takes a list, not a " + std::string(value.type_name()));
        for (std::size_t i = 0; i < value.as_array().size(); ++i) {
            if (node.variables.size() == 2) variables_[node.variables.front()] = static_cast<std::int64_t>(i);
            if (!node.variables.empty()) variables_[node.variables.back()] = value.as_array()[i];
            TRY_VOID(run(node.body, value.as_array()[i]));
        }
        return {};
    }

    Result<Value> evaluate(const TemplatePipeline& pipeline, const Value& dot) {
        Value value;
        for (std::size_t i = 0; i < pipeline.size(); ++i) {
            if (i > 0 && pipeline[i].kind != Kind::Call) return wrong("only a function can follow \"|\"");
            TRY(value, evaluate(pipeline[i], dot, i > 0 ? &value : nullptr));
        }
        return value;
    }

    Result<Value> evaluate(const TemplateCommand& command, const Value& dot, const Value* piped = nullptr) {
        switch (command.kind) {
            case Kind::Constant:
                return command.constant;
            case Kind::Field:
                return below(dot, command.path);
            case Kind::Variable: {
                const auto found = variables_.find(command.name);
                if (found == variables_.end()) return wrong("undefined variable \"" + command.name + "\"");
                return below(found->second, command.path);
            }
            case Kind::Group:
                return evaluate(command.arguments, dot);
            case Kind::Call:
                break;
        }
        std::vector<Value> arguments;
        for (const TemplateCommand& argument : command.arguments) {
            TRY(Value value, evaluate(argument, dot));
            arguments.push_back(std::move(value));
        }
        if (piped) arguments.push_back(*piped);
        return call(command.name, arguments);
    }

    Result<Value> call(const std::string& name, const std::vector<Value>& arguments) const {
        if (name == "Now") return Value(functions_.now);
        if (name == "NodeIP" || name == "NodeIPWith") return Value(functions_.node_ip());
        if (name == "PodIP" || name == "PodIPWith") {
            auto address = functions_.pod_ip();
            if (!address) return Error(Reason::ServiceUnavailable, "the node has no address for pods yet");
            return Value(std::move(*address));
        }
        if (arguments.empty()) return wrong(name + " takes an argument");
        if (name == "Quote") return Value(quoted(arguments.front()));
        if (name == "not") return Value(!is_true(arguments.front()));
        if (name == "and" || name == "or") {
            // As in Go: the first argument that decides, else the last.
            for (const Value& argument : arguments)
                if (is_true(argument) == (name == "or")) return argument;
            return arguments.back();
        }
        if (arguments.size() < 2) return wrong(name + " takes two arguments");
        if (name == "ne") return Value(!(arguments[0] == arguments[1]));
        if (name == "eq") {
            for (std::size_t i = 1; i < arguments.size(); ++i)
                if (arguments[0] == arguments[i]) return Value(true);
            return Value(false);
        }
        return indexed(arguments);
    }

    static Result<Value> indexed(const std::vector<Value>& arguments) {
        const Value* found = &arguments.front();
        for (std::size_t i = 1; i < arguments.size(); ++i) {
            const Value& key = arguments[i];
            if (key.is_string()) {
                found = &schema::at(*found, key.as_string());
            } else if (found->is_array() && key.is_int() && key.as_int() >= 0 &&
                       static_cast<std::size_t>(key.as_int()) < found->as_array().size()) {
                found = &found->as_array()[static_cast<std::size_t>(key.as_int())];
            } else {
                found = &schema::null_value();
            }
        }
        return *found;
    }

    const TemplateFunctions& functions_;
    std::map<std::string, Value> variables_;  // of the whole template: an inner `:=` also changes an outer one of that name
    std::string out_;
    std::size_t steps_ = 0;
};

}  // namespace

StageTemplate::StageTemplate(std::unique_ptr<TemplateNodes> nodes) : nodes_(std::move(nodes)) {}
StageTemplate::StageTemplate(StageTemplate&&) noexcept = default;
StageTemplate& StageTemplate::operator=(StageTemplate&&) noexcept = default;
StageTemplate::~StageTemplate() = default;

Result<StageTemplate> StageTemplate::parse(std::string_view text) {
    TRY(TemplateNodes nodes, parse_template(text));
    return StageTemplate(std::make_unique<TemplateNodes>(std::move(nodes)));
}

Result<std::string> StageTemplate::render(const schema::Value& object, const TemplateFunctions& functions) const {
    Rendering rendering(object, functions);
    TRY_VOID(rendering.run(*nodes_, object));
    return rendering.take();
}

}  // namespace porthole::fleet
