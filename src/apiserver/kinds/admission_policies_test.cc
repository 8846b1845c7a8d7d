#include "apiserver/kinds/rules_fixture.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

constexpr const char* ApiGroup = "admissionregistration.k8s.io";
constexpr const char* Matches =
    "matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]}";

TEST(AdmissionPolicyRules, OfValidatingPolicies) {
    const std::string base = std::string("{spec: {") + Matches + ", validations: [{expression: 'true'}]}}";
    RulesOf rules(ApiGroup, "v1", "ValidatingAdmissionPolicy", base.c_str());
    const Value made = rules.created();
    EXPECT_EQ(made.string_at({"spec", "failurePolicy"}), "Fail");
    EXPECT_EQ(made.string_at({"spec", "matchConstraints", "matchPolicy"}), "Equivalent");
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"nothing to do", "spec: {validations: null}",
             "[spec.validations: Required value: validations or auditAnnotations must contain at least one item, spec.auditAnnotations: "
             "Required value: validations or auditAnnotations must contain at least one item]"},
            {"no rules", "spec: {matchConstraints: {resourceRules: null}}", "spec.matchConstraints.resourceRules: Required value"},
            {"no constraints", "spec: {matchConstraints: null}", "spec.matchConstraints: Required value"},
            {"failure policy", "spec: {failurePolicy: Maybe}",
             "spec.failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\""},
            {"expression", "spec: {validations: [{expression: '1'}, {expression: ' '}]}",
             "[spec.validations[0].expression: Invalid value: \"1\": must evaluate to bool but got int, spec.validations[1].expression: "
             "Required value: expression is not specified]"},
            {"parameters", "spec: {validations: [{expression: 'params == null'}]}",
             "spec.validations[0].expression: Invalid value: \"params == null\": compilation failed: ERROR: <input>:1:1: undeclared "
             "reference "
             "to 'params' (in container '')\n | params == null\n | ^"},
            {"parameters of a kind", "spec: {paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: 'params == null'}]}",
             ""},
            {"kind of parameters", "spec: {paramKind: {apiVersion: a/b/c, kind: 'A b'}}",
             "[spec.paramKind.apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c, spec.paramKind.kind: Invalid "
             "value: "
             "\"A b\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric "
             "characters or "
             "'-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used "
             "for "
             "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')]"},
            {"message", "spec: {validations: [{expression: 'true', message: \"a\\nb\", reason: NotFound}]}",
             "[spec.validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks, spec.validations[0].reason: "
             "Unsupported "
             "value: \"NotFound\": supported values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\"]"},
            {"message expression", "spec: {validations: [{expression: 'true', messageExpression: 'authorizer == null'}]}",
             "spec.validations[0].messageExpression: Invalid value: \"authorizer == null\": compilation failed: ERROR: <input>:1:1: "
             "undeclared "
             "reference to 'authorizer' (in container '')\n | authorizer == null\n | ^"},
            {"variables", "spec: {variables: [{name: a-b, expression: '1'}, {name: c, expression: variables.later}]}",
             "[spec.variables[0].name: Invalid value: \"a-b\": must be a valid CEL identifier, spec.variables[1].expression: Invalid "
             "value: "
             "\"variables.later\": compilation failed: ERROR: <input>:1:10: undefined field 'later'\n | variables.later\n | .........^]"},
            {"annotations", "spec: {auditAnnotations: [{key: k, valueExpression: '1'}, {key: k, valueExpression: null}]}",
             "[spec.auditAnnotations[0].valueExpression: Invalid value: \"1\": must evaluate to one of [string null_type] but got int, "
             "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified, spec.auditAnnotations[1].key: "
             "Duplicate value: \"k\"]"},
            {"conditions", "spec: {matchConditions: [{name: a, expression: object.x}, {name: a, expression: 'true'}]}",
             "[spec.matchConditions[0].expression: Invalid value: \"object.x\": must evaluate to bool but got dyn, "
             "spec.matchConditions[1].name: "
             "Duplicate value: \"a\"]"},
        });
    // What was accepted once may stay.
    EXPECT_EQ(rules.update("spec: {matchConditions: [{name: a, expression: nope}]}", "metadata: {labels: {a: b}}"), "");
    EXPECT_NE(rules.update("spec: {matchConditions: [{name: a, expression: nope}]}", "spec: {paramKind: {apiVersion: v1, kind: Pod}}"), "");
}

TEST(AdmissionPolicyRules, OfMutatingPolicies) {
    const std::string base =
        std::string("{spec: {") + Matches +
        ", reinvocationPolicy: Never, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]}}";
    RulesOf rules(ApiGroup, "v1", "MutatingAdmissionPolicy", base.c_str());
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"nothing to do", "spec: {mutations: null}", "spec.mutations: Required value: mutations must contain at least one item"},
            {"reinvocation", "spec: {reinvocationPolicy: null}", "spec.reinvocationPolicy: Required value"},
            {"deletions",
             "spec: {matchConstraints: {resourceRules: [{operations: [DELETE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]}}",
             "spec.matchConstraints.resourceRules.operations: Unsupported value: \"DELETE\": supported values: \"*\", \"CONNECT\", "
             "\"CREATE\", "
             "\"UPDATE\""},
            {"no patch", "spec: {mutations: [{patchType: JSONPatch}]}",
             "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch"},
            {"other patch",
             "spec: {mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{}]'}, applyConfiguration: {expression: "
             "'Object{}'}}]}",
             "spec.mutations[0].applyConfiguration: Invalid value: \"{applyConfiguration}\": must not be specified when patchType is "
             "JSONPatch"},
            {"result", "spec: {mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object.spec{}'}}]}",
             "spec.mutations[0].applyConfiguration.expression: Invalid value: \"Object.spec{}\": must evaluate to Object but got "
             "Object.spec"},
            {"objects are for patches", "spec: {variables: [{name: a, expression: 'Object{}'}]}",
             "spec.variables[0].expression: Invalid value: \"Object{}\": compilation failed: ERROR: <input>:1:7: undeclared reference to "
             "'Object' (in container '')\n | Object{}\n | ......^"},
        });
}

TEST(AdmissionPolicyRules, OfBindings) {
    RulesOf rules(ApiGroup, "v1", "ValidatingAdmissionPolicyBinding", "{spec: {policyName: p, validationActions: [Deny]}}");
    expect_answers(
        rules,
        {
            {"as it is", "{}", ""},
            {"policy", "spec: {policyName: null}", "spec.policyName: Required value"},
            {"actions", "spec: {validationActions: [Deny, Warn, Deny]}",
             "[spec.validationActions[2]: Duplicate value: \"Deny\", spec.validationActions: Invalid value: [\"Deny\",\"Warn\",\"Deny\"]: "
             "must "
             "not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no "
             "purpose)]"},
            {"no actions", "spec: {validationActions: null}",
             "spec.validationActions: Required value: at least one validation action is required"},
            {"parameter", "spec: {paramRef: {name: a, selector: {}}}",
             "[spec.paramRef.name: Forbidden: name and selector are mutually exclusive, spec.paramRef.selector: Forbidden: name and "
             "selector "
             "are mutually exclusive, spec.paramRef.parameterNotFoundAction: Required value]"},
            {"no parameter", "spec: {paramRef: {parameterNotFoundAction: Deny}}",
             "spec.paramRef: Required value: one of name or selector must be specified"},
        });
}

}  // namespace
}  // namespace porthole::apiserver
