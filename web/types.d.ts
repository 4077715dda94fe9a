// esbuild gives these files as text or style.
declare module "*.py" {
  const text: string;
  export default text;
}
declare module "*.css";
