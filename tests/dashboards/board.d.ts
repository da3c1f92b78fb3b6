// A board as JSON holds it: Grafana's own types, with the words of its enums instead of the enums.
import type { AnnotationQuery, Dashboard } from '@grafana/schema';

type Json<T> = T extends string
  ? `${T}`
  : T extends (infer Item)[]
    ? Json<Item>[]
    : T extends object
      ? { [Key in keyof T]: Json<T[Key]> }
      : T;

// What the Prometheus datasource reads of an annotation; the schema leaves it to datasources.
type Annotation = Json<Omit<AnnotationQuery, 'target'>> & {
  target: { expr: string; interval: string; refId: string; instant: boolean; range: boolean };
  textFormat: string;
  titleFormat: string;
  useValueForTime: boolean;
};

export type Board = Omit<Json<Dashboard>, 'annotations'> & { annotations: { list: Annotation[] } };
