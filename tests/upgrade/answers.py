"""Compares what two versions answer. What is each run's own is learned or left out; everything else has to be the same."""

import json
import re

# Fields that a server chooses: the recorded value stands for the one that this run has in the same place.
CHOSEN = {"uid", "clusterIP", "nodePort", "healthCheckNodePort"}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
AGE = re.compile(r"(\d+[ydhms]){1,2}|<unknown>")
RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=kube-api-access-)[a-z0-9]{5}")  # uids, volumes' names
REVISION = re.compile(r'(resourceVersion(?:"\s*:\s*"|=|"\s*,\s*"value"\s*:\s*"))(\d+)')  # of a body, a path or a JSON patch
CONTROLLERS = "kube-controller-manager"


class Translation:
    """From values of the recorded run to those of this one."""

    def __init__(self):
        self.values, self.revisions = {}, {}

    def learn(self, recorded, actual):
        if isinstance(recorded, dict) and isinstance(actual, dict):
            for name in recorded.keys() & actual.keys():
                self._learn_field(name, recorded, actual)
        elif isinstance(recorded, list) and isinstance(actual, list):
            for one, other in pairs(recorded, actual) or []:
                self.learn(one, other)

    def _learn_field(self, name, recorded, actual):
        one, other = recorded[name], actual[name]
        if name == "resourceVersion":
            self.revisions[one] = other
        elif name in CHOSEN or (name == "name" and "generateName" in recorded):
            self.values.setdefault(one, other)
        else:
            self.learn(one, other)

    def value(self, recorded):
        if isinstance(recorded, str):
            return self.values.get(recorded) or self._with_names(recorded)
        return self.values.get(recorded, recorded) if isinstance(recorded, int) else recorded

    def request(self, text):
        """A path or a body, as this run has to send it."""
        return REVISION.sub(lambda found: found[1] + self.revisions.get(found[2], found[2]), self._with_names(text))

    def _with_names(self, text):
        for recorded, actual in self.values.items():
            if isinstance(recorded, str) and len(recorded) > 8 and recorded in text:
                text = text.replace(recorded, actual)
        return text


def pairs(recorded, actual):
    """What belongs together in two lists: objects by their names, everything else by its place. None if that cannot be said."""
    names = [[place(one) for one in each] for each in (recorded, actual)]
    if all(names[0]) and all(names[1]):
        others = dict(zip(names[1], actual))
        return [(one, others[name]) for name, one in zip(names[0], recorded) if name in others] if set(names[0]) <= set(names[1]) else None
    return list(zip(recorded, actual)) if len(recorded) == len(actual) else None


def place(one):
    metadata = (one.get("metadata") or one.get("object", {}).get("metadata") or {}) if isinstance(one, dict) else {}
    return (metadata.get("namespace", ""), metadata["name"]) if "name" in metadata else None


def shown(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True)[:300]


def differences(recorded, actual, translation=None, path=""):
    """One line for each field that is not the same. Without a translation everything has to be."""
    if isinstance(recorded, dict) and isinstance(actual, dict):
        return [line for name in sorted(recorded.keys() | actual.keys())
                for line in field_differences(recorded.get(name), actual.get(name), translation, path, name)]
    if isinstance(recorded, list) and isinstance(actual, list):
        both = pairs(recorded, actual) if translation else list(zip(recorded, actual)) if len(recorded) == len(actual) else None
        if both is not None:
            return [line for i, (one, other) in enumerate(both) for line in differences(one, other, translation, f"{path}[{i}]")]
    if recorded == actual and type(recorded) is type(actual) or translation and is_same(recorded, actual, translation):
        return []
    return [f"{path}: {shown(recorded)} became {shown(actual)}"]


def field_differences(recorded, actual, translation, path, name):
    own = translation and (name == "resourceVersion" or name in CHOSEN) and type(recorded) is type(actual)
    return [] if own else differences(recorded, actual, translation, f"{path}.{name}")


def is_same(recorded, actual, translation):
    if not isinstance(recorded, str) or not isinstance(actual, str):
        return translation.value(recorded) == actual
    if any(form.fullmatch(recorded) and form.fullmatch(actual) for form in (TIME, AGE)):
        return True
    return TIME.sub("", translation.value(recorded)) == TIME.sub("", actual)


def neutral(answer, path):
    """An answer without what is random in it and without what a controller may have written meanwhile; of what the managers of fields have done, in
    an order of its own. Answers to a request of a status are compared in whole; so are those that are not stored, such as reviews."""
    return without_controllers(json.loads(RANDOM.sub("", json.dumps(answer))), "status" in path.split("/"))


def without_controllers(answer, with_status):
    if not isinstance(answer, dict):
        return answer
    if isinstance(answer.get("items"), list):
        named = [one for one in answer["items"] if "generateName" not in one["metadata"]]
        return {**answer, "items": [without_controllers(one, with_status) for one in named]}
    metadata = dict(answer.get("metadata") or {})
    if "uid" not in metadata:
        return answer
    entries = [one for one in metadata.get("managedFields", []) if one["manager"] != CONTROLLERS]
    metadata["managedFields"] = sorted(entries, key=lambda one: (one["manager"], one["operation"], one.get("subresource", "")))
    annotations = metadata.get("annotations", {})
    metadata["annotations"] = {name: value for name, value in annotations.items() if name != "deployment.kubernetes.io/revision"}
    return {name: value for name, value in answer.items() if with_status or name != "status"} | {"metadata": metadata}
