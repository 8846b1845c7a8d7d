#include "schema/compiler/struct_writer.h"

#include <set>

#include <fmt/format.h>

#include "schema/compiler/checker.h"
#include "schema/compiler/cpp_types.h"
#include "schema/compiler/names.h"

namespace porthole::schemac {
namespace {

class StructWriter {
public:
    explicit StructWriter(const Package& package) : package_(package) {}

    std::string write() {
        out_ += fmt::format("// Made by schemac from {}; change that.\n#pragma once\n", package_.file);
        for (const char* header : {"chrono", "cstdint", "map", "optional", "string", "vector"})
            out_ += fmt::format("#include <{}>\n", header);
        out_ += "\n";
        for (const std::string& dependency : dependencies()) out_ += fmt::format("#include \"api/{}.h\"\n", dependency);
        for (const char* header : {"base/values/int_or_string.h", "base/values/quantity.h", "base/time/time.h", "schema/box.h",
                                   "schema/method.h", "schema/type.h", "schema/value.h"})
            out_ += fmt::format("#include \"{}\"\n", header);
        out_ += fmt::format("\nnamespace {} {{\n\n", package_namespace(package_));
        for (const Enum& enumeration : package_.enums)
            package_.proto3.empty() ? write_string_constants(enumeration) : write_enumerators(enumeration);
        for (const auto& type : package_.types)
            if (!type->string_list) out_ += fmt::format("struct {};\n", type->name);
        out_ += "\n";
        for (const auto& type : package_.types) write_struct(*type);
        for (const Service& service : package_.services) write_methods(service);
        out_ += fmt::format("}}  // namespace {}\n\n", package_namespace(package_));
        for (const auto& type : package_.types)
            if (type->boxed) out_ += fmt::format("extern template class ::porthole::schema::Box<{}>;\n", qualified(*type));
        return std::move(out_);
    }

private:
    std::set<std::string> dependencies() const {
        std::set<std::string> result;
        for (const auto& type : package_.types)
            for (const Field& field : type->fields)
                if (field.target && field.target->package != &package_) result.insert(package_file(*field.target->package));
        return result;
    }

    void write_string_constants(const Enum& enumeration) {
        out_ += fmt::format("struct {} {{\n", enumeration.name);
        std::set<std::string> names{enumeration.name};
        for (const std::string& value : enumeration.values) {
            std::string name = enumerator_name(value);
            if (!names.insert(name).second) name += "_";
            out_ += fmt::format("    static constexpr const char* {} = {};\n", name, literal(value));
        }
        out_ += "};\n";
    }

    void write_enumerators(const Enum& enumeration) {
        out_ += fmt::format("enum class {} : std::int32_t {{\n", enumeration.name);
        for (std::size_t i = 0; i < enumeration.values.size(); ++i)
            out_ += fmt::format("    {} = {},\n", enumerator_name(enumeration.values[i]), enumeration.numbers[i]);
        out_ += "};\n";
    }

    /// Structs that a member holds by value come first.
    void write_struct(const TypeDef& type) {
        if (type.string_list || !written_.insert(&type).second) return;
        for (const Field& field : type.fields) {
            const bool by_value = field.target && field.shape == Shape::Single && !field.is_boxed();
            if (by_value && field.target->package == &package_) write_struct(*field.target);
        }
        write_body(type);
    }

    void write_body(const TypeDef& type) {
        std::string base;
        for (const Field& field : type.fields)
            if (field.inlined) base = " : " + qualified(*field.target);
        out_ += fmt::format("struct {}{} {{\n", type.name, base);
        for (const Field& field : type.fields) {
            if (field.inlined) continue;
            const CppField cpp = cpp_field(field);
            out_ += fmt::format("    {} {}{};\n", cpp.member_type, member_name(field.name), cpp.initializer);
        }
        if (is_outlined(type)) {
            out_ += fmt::format(
                "\n    {0}();\n    {0}(const {0}& other);\n    {0}({0}&& other) noexcept;\n    {0}& operator=(const {0}& other);\n"
                "    {0}& operator=({0}&& other) noexcept;\n    ~{0}();\n",
                type.name);
        }
        out_ += fmt::format("\n    bool operator==(const {}& other) const;\n", type.name);
        out_ += "    static const ::porthole::schema::Type& schema_type();\n";
        if (type.is_kind) out_ += "    static const ::porthole::schema::Kind& kind();\n";
        out_ += "};\n\n";
    }

    void write_methods(const Service& service) {
        out_ += fmt::format("struct {} {{\n", service.name);
        for (const Method& method : service.methods) {
            out_ += fmt::format("    static constexpr ::porthole::schema::{}<{}, {}> {}{{\"/{}.{}/{}\"}};\n",
                                method.server_stream ? "StreamMethod" : "Method", method.request, method.response, method.name,
                                package_.proto3, service.name, method.name);
        }
        out_ += "};\n\n";
    }

    const Package& package_;
    std::string out_;
    std::set<const TypeDef*> written_;
};

}  // namespace

std::string write_structs(const Package& package) { return StructWriter(package).write(); }

}  // namespace porthole::schemac
