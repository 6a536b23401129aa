export default function Models() {
  return <p>Models</p>;
}
