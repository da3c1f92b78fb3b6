// Puts real answers through Grafana's own functions, as its panels do: transformations, units, mappings, thresholds.
// node apply.mjs BOARDS ANSWERS SHOWN: boards by uid, and per uid and panel the frames of its targets. Writes what panels
// would show, and fails with a list of what Grafana does not know.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

// What it expects of a browser while it is loaded.
globalThis.window = globalThis;
globalThis.addEventListener = () => {};
globalThis.location = new URL('http://localhost/');
const nothing = new Proxy(() => nothing, { get: (_, key) => (key === Symbol.toPrimitive ? () => '' : nothing) });
globalThis.document = nothing;
globalThis.history = {};

const require = createRequire(process.env.NODE_MODULES_OF);
const grafana = require('@grafana/data');
const { lastValueFrom } = require('rxjs');

const [boards, answers] = process.argv.slice(2, 4).map((path) => JSON.parse(readFileSync(path, 'utf8')));
const problems = [];
const shown = {};

const units = new Set(grafana.getValueFormats().flatMap((category) => category.submenu.map((unit) => unit.value)));
units.add('string'); // text stays as it is: Grafana's list for people has it as "String"

const processors = {
  unit: grafana.unitOverrideProcessor,
  decimals: grafana.numberOverrideProcessor,
  min: grafana.numberOverrideProcessor,
  max: grafana.numberOverrideProcessor,
  thresholds: grafana.thresholdsOverrideProcessor,
  mappings: grafana.valueMappingsOverrideProcessor,
  noValue: grafana.stringOverrideProcessor,
  links: grafana.dataLinksOverrideProcessor,
  color: grafana.identityOverrideProcessor,
};
const custom = ['cellOptions', 'width', 'drawStyle', 'pointSize', 'stacking'];
const options = new grafana.FieldConfigOptionsRegistry(() => [
  ...Object.entries(processors).map(([path, process]) => option(path, path, process, false)),
  ...custom.map((path) => option(`custom.${path}`, path, grafana.identityOverrideProcessor, true)),
]);
const theme = grafana.createTheme({ colors: { mode: 'light' } }); // pictures are on white paper

function option(id, path, process, isCustom) {
  return { id, path, name: id, process, isCustom, shouldApply: () => true, settings: {}, override: () => null, editor: () => null };
}

const steps = new Map(Object.values(grafana.standardTransformers).map((step) => [step.id, step])); // some have two names
grafana.standardTransformersRegistry.setInit(() =>
  [...steps.values()].map((step) => ({ id: step.id, aliasIds: [], name: step.name, transformation: step, editor: () => null }))
);

for (const [uid, board] of Object.entries(boards)) {
  shown[uid] = {};
  for (const panel of board.panels.filter(({ type }) => type !== 'row')) {
    const where = `${uid}: ${panel.title}`;
    const known = (unit) => units.has(unit) || problems.push(`${where}: no such unit: ${unit}`);
    known(panel.fieldConfig.defaults.unit);
    for (const { matcher, properties } of panel.fieldConfig.overrides) {
      if (!grafana.fieldMatchers.getIfExists(matcher.id)) problems.push(`${where}: no such matcher: ${matcher.id}`);
      for (const { id, value } of properties) {
        if (!options.getIfExists(id)) problems.push(`${where}: no such option: ${id}`);
        if (id === 'unit') known(value);
      }
    }
    for (const calc of panel.options.reduceOptions?.calcs ?? panel.options.legend?.calcs ?? []) {
      if (!grafana.fieldReducers.getIfExists(calc)) problems.push(`${where}: no such calculation: ${calc}`);
    }
    for (const step of panel.transformations ?? []) {
      if (!grafana.standardTransformersRegistry.getIfExists(step.id)) problems.push(`${where}: no such step: ${step.id}`);
    }
    const frames = answers[uid][panel.id].map((frame) => grafana.createDataFrame(frame));
    shown[uid][panel.title] = await panelled(panel, frames);
  }
}

async function panelled(panel, frames) {
  const changed = await lastValueFrom(
    grafana.transformDataFrame(panel.transformations ?? [], frames, { interpolate: (text) => text })
  );
  const data = grafana.applyFieldOverrides({
    data: changed,
    fieldConfig: panel.fieldConfig,
    fieldConfigRegistry: options,
    replaceVariables: (text) => text,
    theme,
    timeZone: 'utc',
  });
  return data.map((frame) => ({
    name: frame.name,
    fields: frame.fields.map((field) => ({
      name: grafana.getFieldDisplayName(field, frame, data),
      unit: field.config.unit,
      type: field.type,
      fixed: field.config.color?.fixedColor && theme.visualization.getColorByName(field.config.color.fixedColor),
      drawStyle: field.config.custom?.drawStyle,
      numbers: field.type === 'string' ? [] : [...field.values],
      values: field.values.map((value) => {
        const { text, color, suffix = '', prefix = '' } = field.display(value);
        return { text: `${prefix}${text}${suffix}`, color };
      }),
      link: field.getLinks?.({ valueRowIndex: 0 })?.[0]?.href,
    })),
  }));
}

if (problems.length) {
  console.error(problems.join('\n'));
  process.exit(1);
}
writeFileSync(process.argv[4], JSON.stringify(shown)); // libraries print what they like
