#include "schema/print/table.h"

#include <gtest/gtest.h>

#include <set>

#include "api/registry.h"
#include "schema/json/json.h"
#include "schema/print/cells.h"

namespace porthole::schema {
namespace {

const Timestamp Now = *Timestamp::parse("2024-05-01T12:00:00Z");

Value parse(std::string_view text) {
    auto value = parse_json(text);
    CHECK(value.has_value());
    return std::move(*value);
}

std::string cells(std::string_view api_version, std::string_view kind, std::string_view json) {
    const Kind* found = api::registry().find_kind(api_version, kind);
    CHECK(found);
    return to_json(table_cells(*found, parse(json), Now));
}

TEST(Table, EveryCellOfTheSchemaIsKnown) {
    std::set<std::string_view> functions;
    for (const auto& list : {general_cells, pod_cells, workload_cells, network_cells, storage_cells, cluster_cells}) {
        for (const CellFunction& function : list) functions.insert(function.name);
    }
    for (const Kind* kind : api::registry().kinds()) {
        EXPECT_EQ(table_cells(*kind, Value::object(), Now).size(), column_definitions(*kind).as_array().size());
        for (const Column& column : kind->columns) {
            const std::string_view name = column.cell.substr(0, column.cell.find_first_of("( "));
            EXPECT_TRUE(name.starts_with('.') || functions.contains(name)) << kind->kind << ": " << column.cell;
        }
    }
}

TEST(Table, ColumnsSayTheirTypeAndPriority) {
    const Value columns = column_definitions(*api::registry().find_kind("v1", "Pod"));
    ASSERT_EQ(columns.as_array().size(), 9u);
    EXPECT_EQ(columns.as_array()[0].string_at({"format"}), "name");
    EXPECT_EQ(columns.as_array()[4].find("priority")->as_int(), 0);
    EXPECT_EQ(columns.as_array()[5].find("priority")->as_int(), 1);
    EXPECT_NE(columns.as_array()[0].string_at({"description"}), "");
}

TEST(Table, KindsWithoutColumnsShowNameAndCreation) {
    EXPECT_EQ(cells("rbac.authorization.k8s.io/v1", "Role", R"({"metadata":{"name":"r","creationTimestamp":"2024-05-01T11:00:00Z"}})"),
              R"(["r","2024-05-01T11:00:00Z"])");
}

TEST(Table, PodStatusIsWhatKubectlUsersKnow) {
    struct {
        const char* name;
        const char* pod;
        const char* expected;
    } const rows[] = {
        {"running", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]},"status":{"phase":"Running","containerStatuses":[
            {"name":"a","ready":true,"state":{"running":{}}},{"name":"b","ready":false,"state":{"running":{}}}]}})",
         R"("1/2","Running","0")"},
        {"crash loop", R"({"spec":{"containers":[{"name":"a"}]},"status":{"phase":"Running","containerStatuses":[{"name":"a","ready":false,
            "restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"finishedAt":"2024-05-01T11:58:30Z"}}}]}})",
         R"x("0/1","CrashLoopBackOff","4 (90s ago)")x"},
        {"completed", R"({"spec":{"containers":[{"name":"a"}]},"status":{"phase":"Succeeded","containerStatuses":[{"name":"a",
            "state":{"terminated":{"exitCode":0,"reason":"Completed"}}}]}})",
         R"("0/1","Completed","0")"},
        {"signal", R"({"spec":{"containers":[{"name":"a"}]},"status":{"phase":"Failed","containerStatuses":[{"name":"a",
            "state":{"terminated":{"exitCode":137,"signal":9}}}]}})",
         R"("0/1","Signal:9","0")"},
        {"init", R"({"spec":{"initContainers":[{"name":"i"},{"name":"j"}],"containers":[{"name":"a"}]},"status":{"phase":"Pending",
            "initContainerStatuses":[{"name":"i","restartCount":1,"state":{"terminated":{"exitCode":0}}},{"name":"j","restartCount":2,"state":{"running":{}}}],
            "containerStatuses":[{"name":"a","state":{"waiting":{"reason":"PodInitializing"}}}]}})",
         R"("0/1","Init:1/2","3")"},
        {"init error", R"({"spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"a"}]},"status":{"phase":"Pending",
            "initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":2}}}]}})",
         R"("0/1","Init:ExitCode:2","0")"},
        {"sidecar",
         R"({"spec":{"initContainers":[{"name":"i","restartPolicy":"Always"}],"containers":[{"name":"a"}]},"status":{"phase":"Running",
            "initContainerStatuses":[{"name":"i","ready":true,"started":true,"restartCount":1,"state":{"running":{}}}],
            "containerStatuses":[{"name":"a","ready":true,"state":{"running":{}}}]}})",
         R"("2/2","Running","1")"},
        {"terminating",
         R"({"metadata":{"deletionTimestamp":"2024-05-01T12:00:00Z"},"spec":{"containers":[{}]},"status":{"phase":"Running"}})",
         R"("0/1","Terminating","0")"},
        {"evicted", R"({"spec":{"containers":[{}]},"status":{"phase":"Failed","reason":"Evicted"}})", R"("0/1","Evicted","0")"},
        {"gated", R"({"spec":{"containers":[{}]},"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
            "reason":"SchedulingGated"}]}})",
         R"("0/1","SchedulingGated","0")"},
        {"one container done",
         R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False"}],
            "containerStatuses":[{"name":"a","state":{"terminated":{"reason":"Completed"}}},{"name":"b","ready":true,"state":{"running":{}}}]}})",
         R"("1/2","NotReady","0")"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const std::string all = cells("v1", "Pod", row.pod);
        EXPECT_TRUE(all.starts_with(std::string(R"(["",)") + row.expected)) << all;
    }
}

TEST(Table, AFinishedPodsRowSaysSo) {
    const Kind& pod = *api::registry().find_kind("v1", "Pod");
    EXPECT_EQ(row_conditions(pod, parse(R"({"status":{"phase":"Running"}})")).size(), 0u);
    const Array conditions = row_conditions(pod, parse(R"({"status":{"phase":"Succeeded"}})"));
    ASSERT_EQ(conditions.size(), 1u);
    EXPECT_EQ(conditions[0].string_at({"reason"}), "Succeeded");
}

TEST(Table, CellsOfOtherKinds) {
    struct {
        const char* name;
        const char* api_version;
        const char* kind;
        const char* object;
        const char* expected;
    } const rows[] = {
        {"deployment", "apps/v1", "Deployment", R"({"metadata":{"name":"web","creationTimestamp":"2024-05-01T10:30:00Z"},
            "spec":{"replicas":3,"selector":{"matchLabels":{"b":"2","a":"1"},"matchExpressions":[{"key":"c","operator":"In","values":["y","x"]},
            {"key":"d","operator":"DoesNotExist"}]},"template":{"spec":{"containers":[{"name":"n","image":"nginx:1"},{"name":"s","image":"side"}]}}},
            "status":{"readyReplicas":2,"updatedReplicas":3}})",
         R"(["web","2/3",3,0,"90m","n,s","nginx:1,side","a=1,b=2,c in (x,y),!d"])"},
        {"service", "v1", "Service",
         R"({"metadata":{"name":"s","creationTimestamp":"2024-04-01T12:00:00Z"},"spec":{"type":"NodePort","clusterIPs":["10.0.0.9"],
            "selector":{"app":"x"},"ports":[{"port":80,"nodePort":30080,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}})",
         R"(["s","NodePort","10.0.0.9","<none>","80:30080/TCP,53/UDP","30d","app=x"])"},
        {"pending load balancer", "v1", "Service", R"({"metadata":{"name":"s"},"spec":{"type":"LoadBalancer"}})",
         R"(["s","LoadBalancer","<none>","<pending>","<none>","<unknown>","<none>"])"},
        {"node", "v1", "Node",
         R"({"metadata":{"name":"n","labels":{"node-role.kubernetes.io/worker":"","node-role.kubernetes.io/control-plane":""},
            "creationTimestamp":"2024-05-01T11:59:57Z"},"spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"True"}],
            "addresses":[{"type":"InternalIP","address":"10.1.1.1"}],"nodeInfo":{"kubeletVersion":"v1.36.0","osImage":"Debian"}}})",
         R"(["n","Ready,SchedulingDisabled","control-plane,worker","3s","v1.36.0","10.1.1.1","<none>","Debian","<unknown>","<unknown>"])"},
        {"event", "v1", "Event",
         R"({"metadata":{"name":"e"},"type":"Normal","reason":"Pulled","message":" done\n","involvedObject":{"kind":"Pod","name":"p",
            "fieldPath":"spec.containers{a}"},"source":{"component":"kubelet","host":"n1"},"count":3,"firstTimestamp":"2024-05-01T11:00:00Z",
            "lastTimestamp":"2024-05-01T11:59:00Z"})",
         R"(["60s","Normal","Pulled","pod/p","spec.containers{a}","kubelet, n1","done","60m","3","e"])"},
        {"newer event", "events.k8s.io/v1", "Event",
         R"({"metadata":{"name":"e"},"type":"Warning","reason":"R","note":"n","regarding":{"kind":"Node","name":"x"},
            "reportingController":"c","eventTime":"2024-05-01T11:58:00.000000Z"})",
         R"(["2m","Warning","R","node/x","","c","n","2m","1","e"])"},
        {"replica set without status", "apps/v1", "ReplicaSet", R"({"metadata":{"name":"r"},"spec":{"replicas":2}})",
         R"(["r",2,0,0,"<unknown>","","","<none>"])"},
        {"config map", "v1", "ConfigMap", R"({"metadata":{"name":"c"},"data":{"a":"","b":""},"binaryData":{"c":""}})",
         R"(["c",3,"<unknown>"])"},
        {"job", "batch/v1", "Job",
         R"({"metadata":{"name":"j"},"spec":{"completions":3},"status":{"succeeded":3,"startTime":"2024-05-01T11:00:00Z",
            "completionTime":"2024-05-01T11:00:42Z","conditions":[{"type":"Complete","status":"True"}]}})",
         R"(["j","Complete","3/3","42s","<unknown>","","","<none>"])"},
        {"cron job", "batch/v1", "CronJob", R"({"metadata":{"name":"c"},"spec":{"schedule":"* * * * *","suspend":false}})",
         R"(["c","* * * * *","<none>","False",0,"<none>","<unknown>","","","<none>"])"},
        {"volume", "v1", "PersistentVolume",
         R"({"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteMany","ReadWriteOnce"],
            "persistentVolumeReclaimPolicy":"Retain","claimRef":{"namespace":"n","name":"c"}},"status":{"phase":"Bound"}})",
         R"(["v","1Gi","RWO,RWX","Retain","Bound","n/c","","<unset>","","<unknown>","<unset>"])"},
        {"storage class", "storage.k8s.io/v1", "StorageClass",
         R"({"metadata":{"name":"s","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"p"})",
         R"x(["s (default)","p","Delete","Immediate",false,"<unknown>"])x"},
        {"role binding", "rbac.authorization.k8s.io/v1", "RoleBinding",
         R"({"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"r"},"subjects":[
            {"kind":"User","name":"u"},{"kind":"User","name":"w"},{"kind":"ServiceAccount","name":"s","namespace":"n"}]})",
         R"(["b","Role/r","<unknown>","u, w","","n/s"])"},
        {"autoscaler", "autoscaling/v2", "HorizontalPodAutoscaler",
         R"({"metadata":{"name":"h"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},
            "maxReplicas":5,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}]}})",
         R"(["h","Deployment/d","cpu: <unknown>/80%","<unset>",5,0,"<unknown>"])"},
        {"endpoints", "v1", "Endpoints",
         R"({"metadata":{"name":"e"},"subsets":[{"addresses":[{"ip":"1.1.1.1"},{"ip":"::1"},{"ip":"1.1.1.3"},{"ip":"1.1.1.4"}],
            "ports":[{"port":80}]}]})",
         R"(["e","1.1.1.1:80,[::1]:80,1.1.1.3:80 + 1 more...","<unknown>"])"},
        {"lease", "coordination.k8s.io/v1", "Lease", R"({"metadata":{"name":"l"},"spec":{"holderIdentity":"me"}})",
         R"(["l","me","<unknown>"])"},
        {"request", "certificates.k8s.io/v1", "CertificateSigningRequest",
         R"({"metadata":{"name":"c"},"spec":{"signerName":"s","username":"u","expirationSeconds":3600},
            "status":{"certificate":"x","conditions":[{"type":"Approved"}]}})",
         R"(["c","<unknown>","s","u","60m","Approved,Issued"])"},
        {"quota", "v1", "ResourceQuota",
         R"({"metadata":{"name":"q"},"status":{"hard":{"pods":"4","cpu":"2","limits.cpu":"3"},"used":{"pods":"1"}}})",
         R"(["q","<unknown>","cpu: 0/2, pods: 1/4","limits.cpu: 0/3"])"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(cells(row.api_version, row.kind, row.object), row.expected);
    }
}

TEST(Table, CustomColumnsFollowTheirPath) {
    static constexpr Column columns[] = {
        {.name = "Name", .type = "string", .format = "name", .cell = ".metadata.name"},
        {.name = "Ready", .type = "string", .cell = R"(.status.conditions[?(@.type=="Ready")].status)"},
        {.name = "Missing", .type = "integer", .cell = ".spec.missing"},
        {.name = "Age", .type = "date", .cell = ".metadata.creationTimestamp"},
        {.name = "Dotted", .type = "string", .cell = R"(.metadata.labels.a\.b)"},
    };
    static constexpr Type type{.name = "Thing"};
    static constexpr Kind kind{.group = "example.com", .version = "v1", .kind = "Thing", .columns = columns, .type = &type};
    EXPECT_EQ(to_json(table_cells(kind, parse(R"({"metadata":{"name":"t","creationTimestamp":"2024-05-01T11:00:00Z","labels":{"a.b":"c"}},
        "status":{"conditions":[{"type":"A","status":"False"},{"type":"Ready","status":"True"}]}})"),
                                  Now)),
              R"(["t","True",null,"60m","c"])");
}

TEST(JsonPath, SelectsWhatItSays) {
    const Value root = parse(R"({"a":{"b":[{"n":1,"s":"x"},{"n":2,"s":"y"},{"n":3}]},"c.d":{"e":true}})");
    struct {
        const char* path;
        const char* expected;
    } const rows[] = {
        {".a.b[0].n", "[1]"},
        {".a.b[-1].n", "[3]"},
        {"{.a.b[*].n}", "[1,2,3]"},
        {"$.a.b[1].s", R"(["y"])"},
        {".a.b[?(@.s=='y')].n", "[2]"},
        {".a.b[?(@.n>1)].n", "[2,3]"},
        {".a.b[?(@.s)].n", "[1,2]"},
        {".['c.d'].e", "[true]"},
        {"['c.d'].e", "[true]"},
        {".a.b[9]", "[]"},
        {".a.b[", "[]"},
        {".a.b[?(]", "[]"},
        {".x.y", "[]"},
        {".a.b[x]", "[]"},
    };
    for (const auto& row : rows) {
        Array found;
        for (const Value* value : select_path(root, row.path)) found.push_back(*value);
        EXPECT_EQ(to_json(found), row.expected) << row.path;
    }
}

}  // namespace
}  // namespace porthole::schema
