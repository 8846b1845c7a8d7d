// Answers of upstream's evaluator (Kubernetes 1.37) to generated expressions: values, errors, issues, costs and estimates. Written by
// `compare CEL_TOOL record 600` (tests/cel/README.md).
#include <gtest/gtest.h>

#include <fstream>

#include "base/base64.h"
#include "cel/environment.h"
#include "schema/json/json.h"

namespace porthole::cel {
namespace {

using Tree = schema::Value;

Value list_of_ints(std::initializer_list<std::int64_t> numbers) {
    std::vector<Value> items;
    for (const std::int64_t number : numbers) items.push_back(Value::integer(number));
    return Value::list(std::move(items));
}

/// The variables of the generator.
struct World {
    const Tree object = *schema::parse_json(
        R"({"name": "web-1", "replicas": 3, "ratio": 1.5, "paused": false, "labels": {"app": "web", "tier": "front"}, "ports": [80, 443],
            "items": [{"name": "a", "size": 1}, {"name": "b", "size": 20}]})");
    Environment environment = Environment::kubernetes({.minor = 37})
                                  .with_variable("i", types::integer())
                                  .with_variable("j", types::integer())
                                  .with_variable("u", types::unsigned_integer())
                                  .with_variable("d", types::real())
                                  .with_variable("s", types::string())
                                  .with_variable("t", types::string())
                                  .with_variable("b", types::boolean())
                                  .with_variable("l", types::list(types::integer()))
                                  .with_variable("w", types::list(types::string()))
                                  .with_variable("m", types::map(types::string(), types::integer()))
                                  .with_variable("o", types::dyn());
    Activation activation = Activation()
                                .set("i", Value::integer(7))
                                .set("j", Value::integer(-2))
                                .set("u", Value::unsigned_integer(5))
                                .set("d", Value::real(2.5))
                                .set("s", Value::string("hello world"))
                                .set("t", Value::string("lo"))
                                .set("b", Value::boolean(true))
                                .set("l", list_of_ints({3, 1, 2}))
                                .set("w", Value::list({Value::string("x"), Value::string("yy"), Value::string("hello")}))
                                .set("m", Value::map({{Value::string("a"), Value::integer(1)}, {Value::string("b"), Value::integer(2)}}))
                                .set("o", Value::of(object));
};

/// {"int": "5"}, {"list": […]}: as the comparison writes values.
Value read(const Tree& tree) {
    const auto& [kind, value] = *tree.as_object().begin();
    if (kind == "bool") return Value::boolean(value.as_bool());
    if (kind == "list" || kind == "map") {
        std::vector<Value> items;
        std::vector<Value::Entry> entries;
        for (const Tree& item : value.as_array()) {
            if (kind == "list")
                items.push_back(read(item));
            else
                entries.emplace_back(read(item.as_array()[0]), read(item.as_array()[1]));
        }
        return kind == "list" ? Value::list(std::move(items)) : Value::map(std::move(entries));
    }
    const std::string text(value.string_or(""));
    if (kind == "int") return Value::integer(std::stoll(text));
    if (kind == "uint") return Value::unsigned_integer(std::stoull(text));
    if (kind == "double") return Value::real(std::stod(text));
    if (kind == "string") return Value::string(text);
    return {};
}

bool is_same(const Value& left, const Value& right) {
    const bool both_nan = left.is(Kind::Double) && right.is(Kind::Double) && left.as_double() != left.as_double();
    return both_nan ? right.as_double() != right.as_double() : left.kind() == right.kind() && left.equals(right);
}

TEST(CelRecorded, AnswersAsUpstream) {
    const World world;
    std::ifstream file(PORTHOLE_CEL_TESTDATA "/recorded.jsonl");
    std::size_t count = 0;
    for (std::string line; std::getline(file, line); ++count) {
        const Tree wanted = *schema::parse_json(line);
        const std::string expression(wanted.string_at({"expression"}));
        SCOPED_TRACE(expression);
        const auto program = world.environment.compile(expression);
        if (const Tree* issues = wanted.find("issues")) {
            ASSERT_FALSE(program);
            if (!issues->as_string().starts_with("program: ")) {
                EXPECT_EQ(program.error().to_string(), issues->as_string());
            }
            continue;
        }
        ASSERT_TRUE(program) << program.error().to_string();
        const Evaluation done = program->evaluate(world.activation);
        if (const Tree* error = wanted.find("error")) {
            EXPECT_TRUE(done.value.is_error());
            EXPECT_EQ(done.value.to_string(), error->as_string());
        } else {
            EXPECT_TRUE(is_same(done.value, read(*wanted.find("value")))) << done.value.to_string();
        }
        EXPECT_EQ(std::to_string(done.cost), wanted.string_at({"cost"}));
        const CostRange estimate = program->estimate_cost();
        EXPECT_EQ(std::to_string(estimate.min), wanted.string_at({"least"}));
        EXPECT_EQ(std::to_string(estimate.max), wanted.string_at({"most"}));
    }
    EXPECT_EQ(count, 600u);
}

}  // namespace
}  // namespace porthole::cel
