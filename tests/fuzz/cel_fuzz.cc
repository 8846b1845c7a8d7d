// Any text as an expression: it compiles or has issues, and what compiles ends within its cost limit.
#include "cel/environment.h"
#include "fuzz_target.h"
#include "schema/json/json.h"

using namespace porthole;
using namespace porthole::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const schema::Value object =
        *schema::parse_json(R"({"name": "web", "replicas": 3, "ratio": 1.5, "ports": [80, 443], "labels": {"app": "web"}})");
    static const auto environment = cel::Environment::extended({.minor = 37})
                                        .with_variable("self", cel::types::dyn())
                                        .with_variable("text", cel::types::string())
                                        .with_limits({.code_points = 2000, .depth = 60, .nodes = 5000});
    const auto program = environment.compile({reinterpret_cast<const char*>(data), size});
    if (!program) {
        expect(!program.error().to_string().empty());
        return 0;
    }
    cel::Activation activation;
    activation.set("self", cel::Value::of(object)).set("text", cel::Value::string("hello world"));
    const cel::Evaluation done = program->evaluate(activation, {.cost_limit = 10'000});
    expect(!done.is_cancelled || done.value.is_error());
    static_cast<void>(done.value.to_string());
    const cel::CostRange estimate = program->estimate_cost();
    expect(estimate.min <= estimate.max);
    return 0;
}
